//! The passes that the crate names apply to the stack of every transport, and the log tells what they changed.

use bertha_microservice::{Site, Transport};
use clap::ValueEnum;
use std::process::Command;

/// Returns the lines about passes that a client over this transport writes, which finds no service.
fn told(transport: Transport) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    // The certificate is the server's.
    Site::new(folder.path()).server().unwrap();
    let name = transport.to_possible_value().unwrap();
    let to = match transport.has_paths() {
        true => format!("unix:{}", folder.path().join("nobody").display()),
        false => "127.0.0.1:1".into(),
    };
    let mut program = Command::new(env!("CARGO_BIN_EXE_bertha-microservice"));
    program.arg("--folder").arg(folder.path()).args(["--transport", name.get_name(), "load", &to]);
    let log = program.env("RUST_LOG", "bertha::passes=trace").output().unwrap().stderr;
    let log = String::from_utf8_lossy(&log);
    log.lines().filter(|line| line.contains("SkipTlsWhenLocal")).map(ToOwned::to_owned).collect()
}

#[test]
fn each_stack_passes_by_and_that_of_tls_between_services_is_changed() {
    for transport in Transport::value_variants() {
        let told = told(*transport);
        if *transport == Transport::TlsMaybeLocal {
            assert!(told.is_empty(), "a plain stack is left as it is: {told:?}");
            continue;
        }
        let [line] = &told[..] else { panic!("{transport:?}: {told:?}") };
        assert!(line.contains("place=src/transport.rs:"), "{line}");
        let changes = r#"changes="Tls / MaybeLocal became TlsUnlessLocal""#;
        assert_eq!(line.contains(changes), *transport == Transport::TlsUnlessLocal, "{line}");
    }
}
