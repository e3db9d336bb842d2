//! The programs `file-transfer` and `bertha` under the agent, as their users start them.

use crate::agent::{Agent, WAYS, Way, memory, place};
use crate::skip::skip;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Returns a program that cargo puts beside the agent, or `None` if it is not built: tests of the workspace build all programs.
fn program(name: &str, arguments: &[&str]) -> Option<Command> {
    let path = Path::new(env!("CARGO_BIN_EXE_bertha-agent")).with_file_name(name);
    if !path.exists() {
        skip(&format!("a transfer under the agent: {} is not built", path.display()));
        return None;
    }
    let mut command = Command::new(path);
    command.args(arguments);
    Some(command)
}

/// A server, which ends with the test.
struct Server {
    child: Child,
    /// The first line that it printed.
    line: String,
}

impl Server {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        Self { child, line }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the output of a client that succeeds.
fn success(mut client: Command) -> String {
    let output = client.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the control by this algorithm of an agent, as it stands on a command line.
fn control(way: Way, algorithm: &str, socket: &Path) -> String {
    match way {
        Way::Socket => format!("agent:{algorithm}@{}", socket.display()),
        Way::Memory => format!("agent:{algorithm}@shm:{}", memory(socket).display()),
    }
}

/// Checks that the agent has shown a flow to this peer with a window, and then its end.
fn has_shown(agent: &Agent, algorithm: &str, peer: &str) {
    agent.prints("flows: 0, ended: 1; vanished datapaths: 0; messages refused: 0");
    assert!(agent.has_printed(&format!("  {algorithm:<12} {peer} "), "window"), "a flow to {peer}");
}

#[test]
fn a_file_arrives_whole_under_the_agent() {
    for way in WAYS {
        let (folder, socket) = place();
        let agent = Agent::start(&socket, &["--interval", "0.02"]);
        let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
        std::fs::create_dir(&to).unwrap();
        let content: Vec<u8> =
            (0..4_000_001_u32).map(|at| (at.wrapping_mul(0x9e37_79b1) >> 24) as u8).collect();
        std::fs::write(&from, &content).unwrap();
        let [from, into] = [&from, &to].map(|path| path.to_str().unwrap());
        let Some(receiver) = program("file-transfer", &["receive", into, "--addr", "127.0.0.1:0"]) else {
            return;
        };
        let receiver = Server::start(receiver);
        let peer = receiver.line.trim().rsplit(' ').next().unwrap();
        // The delay makes the transfer long enough for several tables of the agent.
        let control = control(way, "copa", &socket);
        let options = ["send", from, "--to", peer, "--delay", "50", "--congestion", &control];
        success(program("file-transfer", &options).unwrap());
        assert!(std::fs::read(to.join("from")).unwrap() == content);
        has_shown(&agent, "copa", peer);
    }
}

#[test]
fn a_stack_of_the_command_line_sends_under_the_agent() {
    for way in WAYS {
        let (_folder, socket) = place();
        let agent = Agent::start(&socket, &["--interval", "0.02"]);
        let server = ["perf", "-s", "127.0.0.1:0", "-u", "--json", "--stack", "ordered,fragment,reliable"];
        let Some(server) = program("bertha", &server) else { return };
        let server = Server::start(server);
        let (_, peer) = server.line.split_once("\"listening\":").unwrap();
        let peer = peer.split('"').nth(1).unwrap();
        let stack = format!("ordered,fragment,reliable={}", control(way, "cubic", &socket));
        let client = ["perf", "-c", peer, "-u", "--stack", &stack, "-t", "0.5"];
        success(program("bertha", &client).unwrap());
        has_shown(&agent, "cubic", peer);
    }
}
