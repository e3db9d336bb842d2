//! `bertha tcp` as a process that ends in the middle of a transfer. The tests need root, and are skipped without it.

use rustix::process::{Pid, Signal, kill_process};
use socket2::{Domain, Protocol, SockAddr, Socket, Type};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

const BYTES: usize = 128 << 20;

/// The program, which is killed with the value.
struct Program {
    child: Child,
    name: String,
}

fn program(name: &str, congestion: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha"));
    command.args(["tcp", "--name", name, "--congestion", congestion]);
    command
}

impl Program {
    /// Starts the program, and waits until the control is registered. Returns `None` where the kernel takes none, and tells so.
    fn start(test: char, congestion: &str) -> Option<Self> {
        let name = format!("{test}{}", std::process::id());
        let mut command = program(&name, congestion);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut told = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut told).unwrap();
        if told.is_empty() {
            let output = child.wait_with_output().unwrap();
            let reason = String::from_utf8_lossy(&output.stderr);
            let may_be_skipped =
                std::env::var("CI").as_deref() != Ok("true") && reason.contains("unavailable");
            assert!(may_be_skipped, "{reason}");
            eprintln!("SKIPPED: bertha tcp: {reason}");
            return None;
        }
        assert!(told.contains(&name) && told.contains(congestion), "{told}");
        Some(Self { child, name })
    }

    fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    fn is_registered(&self) -> bool {
        let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
        names.split_whitespace().any(|name| name == self.name)
    }

    fn until_unregistered(&self) {
        let start = Instant::now();
        while self.is_registered() {
            assert!(start.elapsed() < Duration::from_secs(20), "{} stays registered", self.name);
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Transfers bytes under this control, and does something in the middle.
fn transfer(control: &str, in_the_middle: impl FnOnce()) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, Some(Protocol::TCP)).unwrap();
    socket.set_tcp_congestion(control.as_bytes()).unwrap();
    socket.connect(&SockAddr::from(listener.local_addr().unwrap())).unwrap();
    let mut sender = TcpStream::from(socket);
    let (mut receiver, _) = listener.accept().unwrap();
    let sending = std::thread::spawn(move || sender.write_all(&vec![7; BYTES]).unwrap());
    let mut half = vec![0; BYTES / 2];
    receiver.read_exact(&mut half).unwrap();
    in_the_middle();
    let mut rest = Vec::new();
    receiver.read_to_end(&mut rest).unwrap();
    sending.join().unwrap();
    assert_eq!(half.len() + rest.len(), BYTES);
    assert!(half.iter().chain(&rest).all(|byte| *byte == 7));
}

#[test]
fn a_transfer_outlives_the_program_however_it_ends() {
    for (test, signal) in [('k', Signal::KILL), ('t', Signal::TERM), ('s', Signal::STOP)] {
        let Some(mut program) = Program::start(test, "cubic") else { return };
        let name = program.name.clone();
        transfer(&name, || {
            program.signal(signal);
            if signal != Signal::STOP {
                let ended = program.child.wait().unwrap();
                assert_eq!(ended.success(), signal == Signal::TERM, "{ended}");
                program.until_unregistered();
            }
        });
        assert_eq!(program.is_registered(), signal == Signal::STOP);
        drop(program);
    }
}

#[test]
fn a_flow_goes_on_without_an_agent() {
    let folder = tempfile::tempdir().unwrap();
    let nobody = format!("agent:copa@{}", folder.path().join("nobody").display());
    let Some(program) = Program::start('a', &nobody) else { return };
    transfer(&program.name, || {});
}

#[test]
fn names_that_are_none_are_refused_by_name() {
    for (name, congestion, reason) in [("a b", "cubic", "`a b`"), ("b", "cubik", "`cubik`")] {
        let output = program(name, congestion).output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && told.contains(reason), "{told}");
    }
}
