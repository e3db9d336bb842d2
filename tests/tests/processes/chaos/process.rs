//! A process under test, which is started again and again.

use super::network::Network;
use super::publisher::Publisher;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Time after which a process must have ended when it was asked to end.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Process {
    /// The name of the process's histories.
    pub(crate) name: String,
    /// The host on which the process runs.
    pub(crate) host: usize,
    program: Program,
    directory: PathBuf,
    child: Option<Child>,
    starts: usize,
}

/// The program of a process.
enum Program {
    /// The program of this test, with the path of its history last among its arguments.
    Endpoint(Vec<String>),
    /// The program in `apps/pubsub`.
    Publisher(Publisher),
}

impl Process {
    /// Makes a process that is not started yet.
    pub(crate) fn endpoint(name: String, host: usize, arguments: &[&str], directory: PathBuf) -> Self {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        Self { name, host, program: Program::Endpoint(arguments), directory, child: None, starts: 0 }
    }

    /// Makes the process of a participant of a topic.
    pub(crate) fn publisher(name: String, host: usize, publisher: Publisher, directory: PathBuf) -> Self {
        Self { name, host, program: Program::Publisher(publisher), directory, child: None, starts: 0 }
    }

    pub(crate) fn start(&mut self, network: &Network) {
        self.starts += 1;
        let history = self.history();
        let errors = std::fs::File::create(history.with_added_extension("errors")).unwrap();
        self.child = Some(match &mut self.program {
            Program::Endpoint(arguments) => {
                let mut command = network.command(self.host, env!("CARGO_BIN_EXE_endpoint").as_ref());
                command.args(arguments).arg(history).stdin(Stdio::null()).stderr(errors).spawn().unwrap()
            }
            Program::Publisher(publisher) => {
                let mut command = network.command(self.host, Publisher::program().as_ref());
                publisher.arguments(&mut command, self.starts).stderr(errors);
                command.stdin(Stdio::piped()).stdout(std::fs::File::create_new(history).unwrap());
                let mut child = command.spawn().unwrap();
                publisher.talk(child.stdin.take().unwrap());
                child
            }
        });
    }

    /// Returns the path of the history of the latest start.
    fn history(&self) -> PathBuf {
        self.directory.join(format!("{}.{}", self.name, self.starts))
    }

    /// Starts a publisher again that has ended because the store was away and did not let it in.
    pub(crate) fn revive(&mut self, network: &Network) {
        let has_ended = |child: &mut Child| child.try_wait().unwrap().is_some();
        if matches!(self.program, Program::Publisher(_)) && self.child.as_mut().is_some_and(has_ended) {
            let history = std::fs::read_to_string(self.history()).unwrap();
            assert!(history.is_empty(), "{} has ended by itself", self.history().display());
            self.start(network);
        }
    }

    /// Has a publisher publish no more messages.
    pub(crate) fn hush(&mut self) {
        if let Program::Publisher(publisher) = &mut self.program {
            publisher.hush();
        }
    }

    /// Has a publisher leave in good order.
    pub(crate) fn leave(&mut self) {
        let (Program::Publisher(publisher), Some(child)) = (&mut self.program, &mut self.child) else {
            return;
        };
        publisher.leave();
        let asked = Instant::now();
        let status = loop {
            if let Some(status) = child.try_wait().unwrap() {
                break status;
            }
            assert!(asked.elapsed() < TIMEOUT, "{} does not leave", self.name);
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(status.success(), "{} ended with {status}", self.name);
        self.child = None;
    }

    /// Kills the process without a chance to write anything.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            assert!(child.try_wait().unwrap().is_none(), "{} has ended by itself", self.name);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Makes the process hang.
    pub(crate) fn stop(&self) {
        self.signal("STOP");
    }

    pub(crate) fn go_on(&self) {
        self.signal("CONT");
    }

    fn signal(&self, name: &str) {
        if let Some(child) = &self.child {
            signal(child.id(), name);
        }
    }
}

/// Sends a signal.
pub(crate) fn signal(pid: u32, name: &str) {
    let status = Command::new("kill").args([format!("-{name}"), pid.to_string()]).status();
    assert!(status.unwrap().success(), "kill -{name} {pid}");
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
