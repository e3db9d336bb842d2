//! A participant that a scenario has started: a process of its own, or a task of this process if the service
//! is in its memory.

use crate::commands::Commands;
use crate::history::{Line, What, parse};
use crate::joining::take_part;
use crate::journal::Journal;
use crate::participant::{Part, Use};
use crate::store::Store;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_kernel::TokioRuntime;
use bertha_negotiation::rendezvous::MemoryStore;
use std::process::Stdio;
use std::sync::OnceLock;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWrite, AsyncWriteExt, BufReader, duplex};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Largest number of lines that wait to be read.
const LINES: usize = 1 << 16;

/// A participant, which ends when the value is dropped.
pub(crate) struct Process {
    id: u32,
    runs: Runs,
    input: Box<dyn AsyncWrite + Send + Unpin>,
    output: mpsc::Receiver<Line>,
    lines: Vec<Line>,
}

enum Runs {
    Apart(Box<Child>),
    Here(JoinHandle<Result<(), Error>>),
}

pub(crate) fn failed(what: String) -> Error {
    Error::new(ErrorKind::TimedOut, what)
}

impl Process {
    /// Starts a process.
    ///
    /// # Errors
    /// Fails if the process can't be started.
    pub(crate) fn start(part: &Part, store: &str) -> Result<Self, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args([
            "join",
            "--store",
            store,
            "--topic",
            part.topic.as_str(),
            "--id",
            &part.id.to_string(),
        ]);
        command.args(["--lease", &part.lease.to_string(), "--at-most", &part.at_most.to_string()]);
        command.args(["--group", &part.group.to_string(), "--interface", &part.interface.to_string()]);
        if let Some(service) = &part.service {
            let purpose = match part.purpose {
                Use::Publish => "publish",
                Use::Receive => "receive",
                Use::Both => "both",
            };
            command.args(["--service", service, "--use", purpose, "--groups", &part.groups.to_string()]);
            if part.unordered {
                command.arg("--unordered");
            }
        }
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, printed) = pipes.ok_or_else(|| failed("a process without pipes".into()))?;
        let (lines, output) = mpsc::channel(LINES);
        // The task reads all the time, so that the process never waits for a reader. It ends with the
        // process.
        tokio::spawn(read(printed, lines));
        let runs = Runs::Apart(Box::new(child));
        let input = Box::new(input);
        Ok(Self { id: part.id, runs, input, output, lines: Vec::new() })
    }

    /// Starts a task, which agrees with the other participants through the memory of this process.
    pub(crate) fn within(part: Part) -> Self {
        static STORE: OnceLock<MemoryStore<TokioRuntime>> = OnceLock::new();
        let store = STORE.get_or_init(|| MemoryStore::new(TokioRuntime)).clone();
        let (input, commands) = duplex(1 << 10);
        let (journal, output) = mpsc::channel(LINES);
        let id = part.id;
        let commands = Commands::new(BufReader::new(commands));
        let participant = take_part(part, Store::Memory(store), commands, Journal::Kept(journal));
        let runs = Runs::Here(tokio::spawn(participant));
        Self { id, runs, input: Box::new(input), output, lines: Vec::new() }
    }

    /// Returns the history so far.
    pub(crate) fn lines(&self) -> &[Line] {
        &self.lines
    }

    pub(crate) async fn tell(&mut self, command: &str) -> Result<(), Error> {
        Ok(self.input.write_all(format!("{command}\n").as_bytes()).await?)
    }

    /// Reads on until an event happened.
    pub(crate) async fn until(
        &mut self,
        name: &str,
        limit: Duration,
        wanted: impl Fn(&What) -> bool,
    ) -> Result<(), Error> {
        let mut seen = 0;
        loop {
            if self.lines[seen..].iter().any(|line| wanted(&line.what)) {
                return Ok(());
            }
            seen = self.lines.len();
            let id = self.id;
            let line = timeout(limit, self.output.recv()).await;
            match line.map_err(|_| failed(format!("participant {id} has not {name}")))? {
                Some(line) => self.lines.push(line),
                None => return Err(self.ended(name).await),
            }
        }
    }

    /// Reads what comes during this time.
    pub(crate) async fn read_for(&mut self, time: Duration) {
        let all = async {
            while let Some(line) = self.output.recv().await {
                self.lines.push(line);
            }
        };
        // The participant is still there.
        let _ = timeout(time, all).await;
    }

    /// Returns the reason why the participant has ended.
    async fn ended(&mut self, name: &str) -> Error {
        let what = format!("participant {} ended and has not {name}", self.id);
        match &mut self.runs {
            Runs::Here(task) => match task.await {
                Ok(Err(error)) => Error::new(error.kind(), what).because(error),
                _ => failed(what),
            },
            // The process has told its reason on the standard error that it shares with this process.
            Runs::Apart(_) => failed(what),
        }
    }

    /// Makes the participant leave, and returns its whole history.
    pub(crate) async fn leave(mut self, limit: Duration) -> Result<Vec<Line>, Error> {
        self.tell("leave").await?;
        self.until("left", limit, |what| matches!(what, What::Left)).await?;
        let id = self.id;
        let late = |_| failed(format!("participant {id} does not end"));
        match &mut self.runs {
            Runs::Apart(child) => {
                let status = timeout(limit, child.wait()).await.map_err(late)??;
                if !status.success() {
                    return Err(failed(format!("participant {id} ended with {status}")));
                }
            }
            Runs::Here(task) => match timeout(limit, task).await.map_err(late)? {
                Ok(outcome) => outcome?,
                Err(panic) => return Err(failed(format!("participant {id} ended with {panic}"))),
            },
        }
        Ok(std::mem::take(&mut self.lines))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Runs::Here(task) = &self.runs {
            task.abort();
        }
    }
}

/// Passes on the lines of a process until it ends; prints a line that does not belong to a history.
async fn read(printed: ChildStdout, lines: mpsc::Sender<Line>) {
    let mut printed = BufReader::new(printed).lines();
    while let Ok(Some(line)) = printed.next_line().await {
        let Ok(parsed) = parse(&format!("{line}\n")) else { return };
        for line in parsed {
            if lines.send(line).await.is_err() {
                return;
            }
        }
    }
}
