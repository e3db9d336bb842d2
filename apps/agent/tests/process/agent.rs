//! The agent's process.

use bertha::ccp::Ccp;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// An agent, which ends with the test.
pub(crate) struct Agent {
    child: Child,
    printed: Arc<Mutex<Vec<String>>>,
}

/// Returns a folder for sockets, and the path of an agent's socket in it.
pub(crate) fn place() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("agent");
    (folder, socket)
}

/// A way from a datapath to the agent. All agents of the tests listen on both ways.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Way {
    Socket,
    Memory,
}

pub(crate) const WAYS: [Way; 2] = [Way::Socket, Way::Memory];

/// Returns the path at which the agent at this socket takes clients that share memory.
pub(crate) fn memory(socket: &Path) -> PathBuf {
    socket.with_extension("shm")
}

impl Way {
    /// Returns a congestion control by the agent at this socket, which need not be there yet.
    pub(crate) fn control(self, folder: &TempDir, socket: &Path) -> Ccp {
        let control = match self {
            Self::Socket => Ccp::unix(folder.path().join("datapath"), socket),
            Self::Memory => Ccp::shm(memory(socket)),
        };
        control.unwrap().agent_timeout(Duration::from_millis(300))
    }
}

pub(crate) fn command(socket: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha-agent"));
    command.arg("--socket").arg(socket).arg("--shm").arg(memory(socket)).args(options);
    command
}

impl Agent {
    pub(crate) fn start(socket: &Path, options: &[&str]) -> Self {
        let mut child =
            command(socket, options).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let printed = Arc::new(Mutex::new(Vec::new()));
        read(child.stdout.take().unwrap(), &printed);
        read(child.stderr.take().unwrap(), &printed);
        let agent = Self { child, printed };
        agent.prints("by default");
        agent
    }

    /// Waits until the agent has printed a line with this text, for ten seconds at most.
    pub(crate) fn prints(&self, text: &str) {
        let start = Instant::now();
        while !self.printed.lock().unwrap().iter().any(|line| line.contains(text)) {
            assert!(
                start.elapsed() < Duration::from_secs(10),
                "no line with `{text}`: {:#?}",
                self.printed.lock().unwrap()
            );
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Returns true if the agent has printed a line with both texts.
    pub(crate) fn has_printed(&self, one: &str, other: &str) -> bool {
        self.printed.lock().unwrap().iter().any(|line| line.contains(one) && line.contains(other))
    }

    /// Returns the rest of a printed line behind this text, once there is one.
    pub(crate) fn printed_behind(&self, text: &str) -> String {
        self.prints(text);
        let printed = self.printed.lock().unwrap();
        printed.iter().find_map(|line| line.split_once(text)).unwrap().1.to_owned()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Ends the agent as an operator does. Returns true if it has ended well.
    pub(crate) fn ends_well(mut self) -> bool {
        self.signal(Signal::TERM);
        self.child.wait().unwrap().success()
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn read(from: impl std::io::Read + Send + 'static, into: &Arc<Mutex<Vec<String>>>) {
    let into = into.clone();
    std::thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            into.lock().unwrap().push(line);
        }
    });
}
