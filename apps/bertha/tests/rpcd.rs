//! `bertha rpcd`, with a daemon of this process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_rpcd::{Daemon, Settings};
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
