//! A receiver in a process of its own, which is killed.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A process that receives messages and holds them: the program `queue_receiver` of this package, whose path
/// in its tests is `env!("CARGO_BIN_EXE_queue_receiver")`. The process is killed when the value is dropped.
#[derive(Debug)]
pub struct Receiver {
    process: Child,
}

impl Receiver {
    /// Starts the process with a service as the program knows it, and returns once it holds `messages`
    /// messages of the subscription.
    ///
    /// # Panics
    /// Panics if the process ends.
    pub async fn holding(
        program: &Path,
        service: &str,
        topic: &str,
        subscription: &str,
        messages: usize,
    ) -> Self {
        let mut command = Command::new(program);
        command.args([service, topic, subscription, &messages.to_string()]);
        let mut process = command.stdout(Stdio::piped()).spawn().unwrap();
        let output = process.stdout.take().unwrap();
        // The process is killed also if this future is dropped.
        let receiver = Self { process };
        let read = move || {
            let mut line = String::new();
            BufReader::new(output).read_line(&mut line).map(|_| line)
        };
        let line = tokio::task::spawn_blocking(read).await.unwrap().unwrap();
        assert_eq!(line.trim(), format!("holds {messages}"), "the receiver ended");
        receiver
    }

    /// Kills the process without a chance to write anything.
    pub fn kill(mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
