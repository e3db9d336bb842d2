//! An end in another process.

use bertha_core::Addr;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Duration;

/// A process that is killed when the value is dropped.
pub(crate) struct Child {
    process: std::process::Child,
    /// The address that the process printed: the address where it listens, or from which it connected. The
    /// address to which a sender connects.
    pub(crate) addr: Addr,
}

impl Child {
    /// Starts an echo server, and returns once it is ready.
    pub(crate) fn serve(at: &Addr, idle: Duration) -> Self {
        Self::start("serve", at, idle)
    }

    /// Starts a client, and returns once it has had its first echo.
    pub(crate) fn ask(server: &Addr, idle: Duration) -> Self {
        Self::start("ask", server, idle)
    }

    fn start(role: &str, addr: &Addr, idle: Duration) -> Self {
        let mut process = Command::new(env!("CARGO_BIN_EXE_echo"))
            .args([role, &addr.to_string(), &idle.as_millis().to_string()])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = process.stdout.take().unwrap();
        tokio::task::block_in_place(|| BufReader::new(output).read_line(&mut line)).unwrap();
        Self { process, addr: line.trim().parse().unwrap() }
    }

    /// Starts a sender of numbered messages over this stack, which trusts this certificate.
    pub(crate) fn send(stack: &str, to: &Addr, idle: Duration, trust: &str) -> Self {
        let process = Command::new(env!("CARGO_BIN_EXE_sender"))
            .args([stack, &to.to_string(), &idle.as_millis().to_string()])
            .env("TRUST", trust)
            .spawn()
            .unwrap();
        Self { process, addr: to.clone() }
    }

    /// Kills the process without a chance to send a message.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Makes the process hang.
    pub(crate) fn stop(&self) {
        let status = Command::new("kill").args(["-STOP", &self.process.id().to_string()]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
