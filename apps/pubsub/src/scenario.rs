//! Two participants, and a third that joins while messages flow.

use crate::history::{Line, What, parse};
use bertha_core::{Error, ErrorKind};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::time::timeout;

/// How long to wait for something to happen.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The options of a scenario.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Scenario {
    /// Where the store is: redis://host:port or etcd://host:port[,host:port...]; rediss:// and etcds:// for TLS, with a login as
    /// user@ and files as ?ca=FILE&cert=FILE&key=FILE&password_file=FILE.
    #[arg(long)]
    store: String,
    /// The topic, an unused one.
    #[arg(long, default_value_t = format!("pubsub-{}", std::process::id()))]
    topic: String,
    /// The multicast group and port.
    #[arg(long, default_value = "239.255.77.1:7701")]
    group: String,
    /// How many participants there are in the end.
    #[arg(long, default_value_t = 3)]
    participants: u32,
    /// How many messages each publishes before the last one joins, and as many after that.
    #[arg(long, default_value_t = 100)]
    messages: u32,
    /// The pause between messages, in milliseconds.
    #[arg(long, default_value_t = 25)]
    interval: u64,
}

/// A participant in a process of its own.
struct Process {
    id: u32,
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
    lines: Vec<Line>,
}

fn failed(what: String) -> Error {
    Error::new(ErrorKind::TimedOut, what)
}

impl Process {
    fn start(scenario: &Scenario, id: u32) -> Result<Self, Error> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["join", "--store", &scenario.store, "--topic", &scenario.topic]);
        command.args(["--group", &scenario.group, "--id", &id.to_string()]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true).spawn()?;
        let pipes = child.stdin.take().zip(child.stdout.take());
        let (input, output) = pipes.ok_or_else(|| failed("a process without pipes".into()))?;
        Ok(Self { id, child, input, output: BufReader::new(output).lines(), lines: Vec::new() })
    }

    async fn tell(&mut self, command: &str) -> Result<(), Error> {
        Ok(self.input.write_all(format!("{command}\n").as_bytes()).await?)
    }

    /// Reads on until something happened.
    async fn until(&mut self, name: &str, wanted: impl Fn(&What) -> bool) -> Result<(), Error> {
        while !self.lines.iter().any(|line| wanted(&line.what)) {
            let next = timeout(TIMEOUT, self.output.next_line()).await;
            let line = next.map_err(|_| failed(format!("participant {} has not {name}", self.id)))??;
            let line =
                line.ok_or_else(|| failed(format!("participant {} ended and has not {name}", self.id)))?;
            self.lines.extend(parse(&format!("{line}\n"))?);
        }
        Ok(())
    }
}

/// Plays it; all that happened, in the order of time.
///
/// # Errors
/// If a process does not start or does not do its part in time.
pub(crate) async fn play(scenario: &Scenario) -> Result<Vec<Line>, Error> {
    let (all, first) = (scenario.participants, scenario.messages);
    let publish = format!("publish {first} {}", scenario.interval);
    let mut processes = Vec::new();
    for id in 1..all {
        let mut process = Process::start(scenario, id)?;
        process.until("joined", |what| matches!(what, What::Joined { .. })).await?;
        processes.push(process);
    }
    let there = all as usize - 1;
    for process in &mut processes {
        process
            .until("seen all", |what| matches!(what, What::Participants { count } if *count == there))
            .await?;
    }
    for process in &mut processes {
        process.tell(&publish).await?;
    }
    for process in &mut processes {
        process
            .until("published", |what| matches!(what, What::Sent { number, .. } if *number + 1 == first))
            .await?;
        // Before the last one is there, so that messages flow while it joins.
        process.tell(&publish).await?;
    }
    let mut last = Process::start(scenario, all)?;
    last.until("joined", |what| matches!(what, What::Joined { .. })).await?;
    for process in &mut processes {
        process
            .until("published", |what| matches!(what, What::Sent { number, .. } if *number + 1 == 2 * first))
            .await?;
    }
    processes.push(last);
    // Messages on their way arrive meanwhile.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let mut lines = Vec::new();
    for mut process in processes {
        process.tell("leave").await?;
        process.until("left", |what| matches!(what, What::Left)).await?;
        let ended = timeout(TIMEOUT, process.child.wait()).await;
        let status = ended.map_err(|_| failed(format!("participant {} does not end", process.id)))??;
        if !status.success() {
            return Err(failed(format!("participant {} ended with {status}", process.id)));
        }
        lines.extend(process.lines);
    }
    lines.sort_by_key(|line| line.at);
    Ok(lines)
}
