//! The ends of the program: exit codes and signals.

use crate::program::{Scene, program, sending};
use std::io::Read;
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

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

/// A receiver that says nothing is given up after the time that was asked for: before a sender that began earlier, and has more time.
#[test]
fn the_time_for_a_silent_receiver_holds_while_connecting() {
    let scene = Scene::new();
    let path = scene.file("file", 10, 1);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let addr = silent.local_addr().unwrap().to_string();
    let send = |timeout: &str| {
        let options = ["--datapath", "tcp", "--persistence", "0", "--timeout", timeout];
        let mut sender = program();
        sender.arg("send").arg(&path).args(["--to", &addr]).args(options);
        sender.stderr(Stdio::null()).spawn().unwrap()
    };
    let mut patient = send("600");
    std::thread::sleep(Duration::from_secs(1));
    assert_eq!(send("0.3").wait().unwrap().code(), Some(1));
    assert!(patient.try_wait().unwrap().is_none(), "the time-out is not the one that was asked for");
    patient.kill().unwrap();
    patient.wait().unwrap();
}

#[test]
fn exit_codes_are_those_of_all_programs() {
    let code = |arguments: &[&str]| program().args(arguments).output().unwrap().status.code();
    assert_eq!(code(&["send", "--help"]), Some(0));
    assert_eq!(code(&["receive", "/nowhere"]), Some(1));
    assert_eq!(code(&["send"]), Some(2));
    assert_eq!(code(&["completion", "bash"]), Some(0));
}
