//! The ends of the command: exit codes, signals, and silent strangers.

use super::program::{Server, bertha};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

fn signal(process: u32, signal: &str) {
    let sent = Command::new("kill").args(["-s", signal, &process.to_string()]).status().unwrap();
    assert!(sent.success(), "{signal}");
}

fn code(arguments: &[&str]) -> Option<i32> {
    bertha(arguments).output().unwrap().status.code()
}

#[test]
fn an_exit_code_says_whether_the_work_was_done_failed_or_was_not_understood() {
    assert_eq!(code(&["--help"]), Some(0));
    assert_eq!(code(&["man"]), Some(0));
    assert_eq!(code(&["ping", "no-such-host.invalid"]), Some(1));
    assert_eq!(code(&["man", "pong"]), Some(1));
    assert_eq!(code(&["ping"]), Some(2));
    assert_eq!(code(&["ping", "127.0.0.1:1", "--count", "0"]), Some(2));
}

#[test]
fn a_signal_ends_a_server_in_order() {
    let folder = tempfile::tempdir().unwrap();
    for (name, datapath, number) in [("INT", "unix-stream", 0), ("TERM", "unix", 1), ("TERM", "shm", 2)] {
        let path = folder.path().join(number.to_string());
        let on = format!("unix:{}", path.display());
        let mut server = Server::start(&on, &["--datapath", datapath]);
        let mut ping =
            bertha(&["ping", &on, "--datapath", datapath, "--interval", "0.01", "--count", "1000000"]);
        let mut ping = ping.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(ping.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("time=")), "{datapath}");
        signal(server.id(), name);
        assert_eq!(server.wait().code(), Some(0), "{name} over {datapath}");
        assert!(!path.exists(), "{datapath}");
        // The client was told, and did not wait for a time-out.
        assert_eq!(ping.wait().unwrap().code(), Some(1), "{datapath}");
        let mut reason = String::new();
        ping.stderr.take().unwrap().read_to_string(&mut reason).unwrap();
        assert!(reason.contains("closed"), "{datapath}: {reason}");
    }
}

#[test]
fn a_signal_interrupts_a_client_which_tells_what_it_has() {
    let mut server = Server::start("127.0.0.1:0", &[]);
    for name in ["INT", "TERM"] {
        let mut ping = bertha(&["ping", &server.address, "--interval", "0.01", "--count", "1000000"]);
        let mut ping = ping.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(ping.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("time=")));
        signal(ping.id(), name);
        assert!(lines.any(|line| line.unwrap().starts_with("min/mean")), "{name}");
        assert_eq!(ping.wait().unwrap().code(), Some(3), "{name}");
        // The connection was closed, and not cut.
        let served = server.next();
        assert!(served["end"].as_str().unwrap().contains("closed"), "{served}");
    }
    let perf = ["perf", "-c", &server.address, "-t", "600", "-i", "0.05"];
    let mut perf = bertha(&perf).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(perf.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("0.05")));
    signal(perf.id(), "INT");
    assert_eq!(perf.wait().unwrap().code(), Some(3));
}

/// Strangers connect and say nothing; each is given up after a quarter of a second.
#[test]
fn silent_strangers_have_a_line_a_second_together() {
    let start = Instant::now();
    let mut server = Server::start("127.0.0.1:0", &["--timeout", "0.25"]);
    let mut told = 0;
    let mut lines = 0;
    let mut strangers = Vec::new();
    while told < 60 {
        if strangers.len() < 60 {
            strangers.push(TcpStream::connect(&server.address).unwrap());
            std::thread::sleep(Duration::from_millis(20));
        } else {
            lines += 1;
            told += server.next()["clients"].as_u64().unwrap();
        }
    }
    assert_eq!(told, 60);
    assert!(lines <= 1 + start.elapsed().as_secs(), "{lines} lines");
}
