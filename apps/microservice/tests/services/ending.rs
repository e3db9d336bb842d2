//! The ends of the program: exit codes and signals.

use bertha_program::until_ready_for_signals;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};

const PROGRAM: &str = env!("CARGO_BIN_EXE_bertha-microservice");

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "{signal}");
}

#[test]
fn a_signal_ends_a_service_in_order_and_a_client_before_its_work_is_done() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["INT", "TERM"] {
        let path = folder.path().join(name);
        let address = format!("unix:{}", path.display());
        let start = |arguments: &[&str]| {
            let mut command = Command::new(PROGRAM);
            command.arg("--folder").arg(folder.path()).args(["--transport", "unix"]).args(arguments);
            command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        };
        let mut service = start(&["serve", "echo", "--on", &address]);
        let mut lines = BufReader::new(service.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("listens at")));
        let endless = ["load", &address, "--requests", "1000000000"];
        let mut load = start(&endless);
        let mut interrupted = start(&endless);
        until_ready_for_signals(interrupted.id());
        signal(interrupted.id(), name);
        assert_eq!(interrupted.wait().unwrap().code(), Some(3), "{name}");
        signal(service.id(), name);
        assert_eq!(service.wait().unwrap().code(), Some(0), "{name}");
        assert!(!path.exists(), "{name}");
        // The client is told, and does not wait for a time-out.
        assert_eq!(load.wait().unwrap().code(), Some(1), "{name}");
    }
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let code = |arguments: &[&str]| Command::new(PROGRAM).args(arguments).output().unwrap().status.code();
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["--transport", "unix", "load", "unix:/nowhere/echo.sock"]), Some(1));
    assert_eq!(code(&["load"]), Some(2));
}
