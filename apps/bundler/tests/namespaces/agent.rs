//! The agent of the sendbox, in a process of its own.

use bertha_ccp::AgentSocket;
use bertha_ccp::algorithms::{Copa, Nimbus};
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

/// The variable with which the test's program runs as an agent.
const SOCKET: &str = "BERTHA_TEST_AGENT";

/// An agent, which is killed when the value is dropped.
pub(crate) struct Agent(Child);

/// Returns the path of the agent's socket in a folder.
pub(crate) fn socket(folder: &TempDir) -> PathBuf {
    folder.path().join("agent")
}

impl Agent {
    pub(crate) fn start(folder: &TempDir) -> Self {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["agent::runs", "--exact", "--ignored", "--nocapture"]).stdout(Stdio::null());
        Self(command.env(SOCKET, socket(folder)).spawn().unwrap())
    }

    pub(crate) fn signal(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.0), signal).unwrap();
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[test]
#[ignore = "it is the agent of the other tests"]
fn runs() {
    let sock = AgentSocket::bind(Path::new(&std::env::var(SOCKET).unwrap()), &[]).unwrap();
    let run = RunBuilder::new(BackendBuilder { sock });
    run.default_alg(Copa::without_competition()).additional_alg(Nimbus).run().unwrap();
}
