//! The ends of the program: exit codes and signals.

use crate::program::{Scene, program, sending};
use std::io::Read;
use std::process::Command;

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "{signal}");
}

#[test]
fn a_signal_ends_a_receiver_in_order_and_a_sender_before_its_work_is_done() {
    for name in ["INT", "TERM"] {
        let scene = Scene::new();
        let path = scene.file("file", 3_000_000, 1);
        let socket = scene.here.join("socket");
        let addr = format!("unix:{}", socket.display());
        let mut receiver = scene.receiver(&addr, &["--datapath", "unix"]);
        // A delay and losses make the file slow, so that it is on its way when the receiver ends.
        let slow = ["--datapath", "unix", "--delay", "20", "--lose", "0.3", "--persistence", "600"];
        let mut sender = sending(program(), &path, &addr, &slow).spawn().unwrap();
        scene.wait_for("file", 1);
        signal(receiver.id(), name);
        assert_eq!(receiver.wait().code(), Some(0), "{name}");
        assert!(!socket.exists(), "{name}");
        assert!(scene.unfinished("file").exists(), "the part stays for the next receiver");
        // The sender goes on connecting until its own end.
        let mut log = sender.stderr.take().unwrap();
        let mut said = String::new();
        while !said.contains("connecting again") {
            let mut bytes = [0; 1024];
            let count = log.read(&mut bytes).unwrap();
            assert!(count > 0, "{said}");
            said.push_str(&String::from_utf8_lossy(&bytes[..count]));
        }
        signal(sender.id(), name);
        assert_eq!(sender.wait().unwrap().code(), Some(3), "{name}");
        log.read_to_string(&mut said).unwrap();
        assert!(said.contains("file-transfer: ") && said.contains("interrupted by a signal"), "{said}");
    }
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let code = |arguments: &[&str]| program().args(arguments).output().unwrap().status.code();
    assert_eq!(code(&["send", "--help"]), Some(0));
    assert_eq!(code(&["receive", "/nowhere"]), Some(1));
    assert_eq!(code(&["send"]), Some(2));
    assert_eq!(code(&["completion", "bash"]), Some(0));
}
