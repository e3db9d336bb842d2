//! `bertha rpcd`, with a daemon of this process.

use bertha_rpcd::{Daemon, Settings};
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;
use tokio::process::Command;

async fn rpcd(socket: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha"));
    command.arg("rpcd").arg("--socket").arg(socket).args(arguments).output().await.unwrap()
}

#[tokio::test]
async fn policies_are_added_listed_changed_and_removed() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let daemon = Daemon::listen(&socket, Settings::default()).await.unwrap();
    let running = tokio::spawn(daemon.run());
    for arguments in [
        &["add", "hotel", "rate-limit", "per-second=100", "burst=5"][..],
        &["add", "hotel", "null", "--as", "nothing"],
        &["configure", "hotel", "rate-limit", "per-second=200"],
        &["remove", "hotel", "nothing"],
        &["route", "cart", "10.0.0.2:7000,grpc:[::1]:80"],
    ] {
        let output = rpcd(&socket, arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    let listed = String::from_utf8(rpcd(&socket, &["list"]).await.stdout).unwrap();
    let expected = "service  server                           callers  engines\n\
                    cart     at 10.0.0.2:7000, grpc:[::1]:80  0\n\
                    hotel    none                             0        rate-limit (rate-limit burst=5 per-second=200)\n";
    assert_eq!(listed, expected);
    let refused = rpcd(&socket, &["remove", "hotel", "nothing"]).await;
    assert!(!refused.status.success());
    assert!(String::from_utf8(refused.stderr).unwrap().contains("there is no engine nothing"));
    running.abort();
}

#[tokio::test]
async fn libraries_of_engines_are_loaded_upgraded_listed_and_unloaded() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let library = folder.path().join("pace.so");
    let built = std::env::current_exe().unwrap().with_file_name("libbertha_example_engine.so");
    std::fs::copy(built, &library).unwrap();
    std::fs::set_permissions(&library, Permissions::from_mode(0o755)).unwrap();
    let daemon = Daemon::listen(&socket, Settings::default()).await.unwrap();
    let running = tokio::spawn(daemon.run());
    let path = library.to_str().unwrap();
    for arguments in [
        &["load", path][..],
        &["add", "hotel", "pace", "microseconds=10"],
        &["load", path],
        &["upgrade", "hotel", "pace"],
        &["add", "hotel", "pace", "--as", "other"],
        &["upgrade", "hotel", "other", "pace"],
        &["remove", "hotel", "other"],
    ] {
        let output = rpcd(&socket, arguments).await;
        assert!(output.status.success(), "{arguments:?}: {output:?}");
    }
    let listed = String::from_utf8(rpcd(&socket, &["list"]).await.stdout).unwrap();
    let expected = format!(
        "service  server  callers  engines\n\
         hotel    none    0        pace (pace microseconds=10)\n\n\
         kind  library\n\
         pace  {path}\n"
    );
    assert_eq!(listed, expected);
    let refused = rpcd(&socket, &["unload", "pace"]).await;
    assert!(String::from_utf8(refused.stderr).unwrap().contains("the engine pace of hotel is of this kind"));
    assert!(rpcd(&socket, &["remove", "hotel", "pace"]).await.status.success());
    assert!(rpcd(&socket, &["unload", "pace"]).await.status.success());
    running.abort();
}

#[tokio::test]
async fn a_schema_is_bound_or_refused() {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("rpcd");
    let daemon = Daemon::listen(&socket, Settings::default()).await.unwrap();
    let running = tokio::spawn(daemon.run());
    let schema = concat!(env!("CARGO_MANIFEST_DIR"), "/../../schemas/build/tests/generated/hotel.Hotels.bin");
    let bound = rpcd(&socket, &["bind", schema]).await;
    let told = String::from_utf8(bound.stdout).unwrap();
    let lines: Vec<_> = told.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    assert_eq!(lines[0], ["service", "schema", "methods", "messages"]);
    assert_eq!((lines.len(), lines[1][0], lines[1][1].len()), (2, "hotel.Hotels", 64), "{told}");
    let long = folder.path().join("long");
    std::fs::write(&long, vec![0; (1 << 20) + 1]).unwrap();
    let wrong = [
        (long.to_str().unwrap(), "longer than 1 MiB"),
        ("/none", "cannot read /none"),
        // It never ends.
        ("/dev/zero", "no regular file"),
    ];
    for (file, reason) in wrong {
        let refused = rpcd(&socket, &["bind", file]).await;
        assert!(!refused.status.success());
        assert!(String::from_utf8(refused.stderr).unwrap().contains(reason), "{file}");
    }
    running.abort();
}
