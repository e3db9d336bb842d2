//! The server, as a process of its own.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};

/// Returns the maximum number of descriptors that the system allows this process and its children.
pub(crate) fn most_descriptors() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    let hard = line.split_whitespace().nth(4).unwrap();
    hard.parse().unwrap_or(usize::MAX)
}

/// An echo server, which is killed when the value is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    pub(crate) addr: SocketAddr,
}

impl Child {
    /// Starts a server that may have this number of descriptors.
    pub(crate) fn start(descriptors: usize, arguments: &[&str]) -> Self {
        let mut process = Command::new("sh")
            .args(["-c", "ulimit -n \"$0\" && exec \"$@\""])
            .args([&descriptors.to_string(), env!("CARGO_BIN_EXE_stream_echo")])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let mut child =
            Self { process, input, output: BufReader::new(output), addr: ([127, 0, 0, 1], 0).into() };
        child.addr = child.line().parse().unwrap();
        child
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        tokio::task::block_in_place(|| self.output.read_line(&mut line)).unwrap();
        line.trim().to_owned()
    }

    /// Returns the server's counts of accepted and failed clients.
    pub(crate) fn account(&mut self) -> String {
        self.input.write_all(b"\n").unwrap();
        self.line()
    }

    /// Returns the number of the server's descriptors.
    pub(crate) fn descriptors(&self) -> usize {
        std::fs::read_dir(format!("/proc/{}/fd", self.process.id())).unwrap().count()
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
