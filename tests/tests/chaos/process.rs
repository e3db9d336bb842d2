//! One process under test, started again and again.

use super::network::Network;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

pub(crate) struct Process {
    /// What its histories are called.
    pub(crate) name: String,
    /// Where it runs.
    pub(crate) host: usize,
    arguments: Vec<String>,
    directory: PathBuf,
    child: Option<Child>,
    starts: usize,
}

impl Process {
    /// Not started yet. The path of its history comes last among its arguments.
    pub(crate) fn new(name: String, host: usize, arguments: &[&str], directory: PathBuf) -> Self {
        let arguments = arguments.iter().map(|it| (*it).to_owned()).collect();
        Self { name, host, arguments, directory, child: None, starts: 0 }
    }

    pub(crate) fn start(&mut self, network: &Network) {
        self.starts += 1;
        let history = self.directory.join(format!("{}.{}", self.name, self.starts));
        let errors =
            std::fs::File::create(self.directory.join(format!("{}.{}.errors", self.name, self.starts)));
        let mut command = network.command(self.host, env!("CARGO_BIN_EXE_endpoint"));
        command.args(&self.arguments).arg(history).stdin(Stdio::null()).stderr(errors.unwrap());
        self.child = Some(command.spawn().unwrap());
    }

    /// Ends it without a chance to say anything.
    pub(crate) fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            assert!(child.try_wait().unwrap().is_none(), "{} has ended by itself", self.name);
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    /// Lets it hang.
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
