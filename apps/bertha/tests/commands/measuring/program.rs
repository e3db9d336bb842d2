//! The program `bertha` as processes: servers that end with the test, and clients whose output is read.

use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};

pub fn bertha(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_bertha"));
    command.args(arguments);
    command
}

/// A server of `perf`, which is killed when the value is dropped.
pub struct Server {
    child: Child,
    pub address: String,
    lines: std::io::Lines<BufReader<ChildStdout>>,
}

impl Server {
    /// Starts a server at `on` with these further options, and waits until it listens.
    pub fn start(on: &str, options: &[&str]) -> Self {
        Self::start_with(on, options, &[])
    }

    /// Starts a server as `start` does, with these variables in its environment.
    pub fn start_with(on: &str, options: &[&str], environment: &[(&str, &str)]) -> Self {
        let arguments = [&["perf", "--server", on, "--json"], options].concat();
        let mut program = bertha(&arguments);
        program.envs(environment.iter().copied());
        let mut child = program.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let first = json(&lines.next().unwrap().unwrap());
        let address = first["listening"].as_str().unwrap().to_owned();
        Self { child, address, lines }
    }

    /// Returns the line about the next client that has gone.
    pub fn next(&mut self) -> Value {
        json(&self.lines.next().unwrap().unwrap())
    }

    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Waits for the end of the server.
    pub fn wait(&mut self) -> ExitStatus {
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"))
}

/// Returns the standard output of a run that succeeds.
pub fn output(arguments: &[&str]) -> String {
    let Output { status, stdout, stderr } = bertha(arguments).output().unwrap();
    assert!(status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).unwrap()
}

/// Returns the standard error of a run that fails.
pub fn failure(arguments: &[&str]) -> String {
    let Output { status, stderr, .. } = bertha(arguments).output().unwrap();
    assert!(!status.success(), "{arguments:?} succeeds");
    String::from_utf8(stderr).unwrap()
}
