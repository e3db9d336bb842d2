//! One connection.

use super::format::Frame;
use super::wire::{Replies, Version};
use super::{Command, Operation, Outcome, Routes, command};
use crate::shared_store::SharedStore;
use bertha::prelude::*;
use bertha::{Error, ErrorKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The most commands that are carried out before they are answered.
const BURST: usize = 256;

/// Replies go out at the latest when there are so many bytes of them, however many commands are left of the burst.
const REPLIES: usize = 1 << 20;

/// Figures of all fronts together.
#[derive(Debug, Default)]
pub(crate) struct Counters {
    pub(super) clients: AtomicU64,
    commands: AtomicU64,
}

/// The state of one connection.
pub(super) struct Session<'a> {
    store: &'a SharedStore,
    routes: &'a Routes,
    counters: &'a Arc<Counters>,
    version: Version,
    steps: Vec<Step>,
    operations: Vec<Operation>,
    outcomes: Vec<Outcome>,
    replies: Replies,
}

/// How a command is answered.
enum Step {
    /// With the next outcome.
    One,
    /// With a list of so many.
    Each(usize),
    /// With the sum of so many.
    Sum(usize),
    /// Without the store.
    Here(Command),
}

impl<'a> Session<'a> {
    pub(super) fn new(store: &'a SharedStore, routes: &'a Routes, counters: &'a Arc<Counters>) -> Self {
        Self {
            store,
            routes,
            counters,
            version: Version::Two,
            steps: Vec::new(),
            operations: Vec::new(),
            outcomes: Vec::new(),
            replies: Replies::default(),
        }
    }

    /// Answers commands until the connection ends, and says why it did.
    pub(super) async fn serve(mut self, connection: &impl Connection<Data = Frame>) -> Error {
        let mut burst = Vec::with_capacity(BURST);
        loop {
            if let Err(ended) = connection.recv_batch(&mut burst, BURST).await {
                return ended;
            }
            self.plan(burst.drain(..));
            // Relaxed: a number by itself.
            self.counters.commands.fetch_add(self.steps.len() as u64, Relaxed);
            self.routes.carry_out(self.store, &mut self.operations, &mut self.outcomes).await;
            if let Err(ended) = self.reply(connection).await {
                return ended;
            }
        }
    }

    /// Divides the commands into operations on the store, and what has to be made of their outcomes.
    fn plan(&mut self, frames: impl Iterator<Item = Frame>) {
        for frame in frames {
            let Frame::Command(command) = frame else { continue };
            self.steps.push(match command {
                Command::One(operation) => {
                    self.operations.push(operation);
                    Step::One
                }
                Command::GetEach(keys) => {
                    let count = keys.len();
                    self.operations.extend(keys.into_iter().map(Operation::Get));
                    Step::Each(count)
                }
                Command::DeleteEach(keys) => {
                    let count = keys.len();
                    self.operations.extend(keys.into_iter().map(Operation::Delete));
                    Step::Sum(count)
                }
                here => Step::Here(here),
            });
        }
    }

    /// Sends the replies in the order of the commands.
    async fn reply(&mut self, connection: &impl Connection<Data = Frame>) -> Result<(), Error> {
        let mut outcomes = self.outcomes.drain(..);
        for step in self.steps.drain(..) {
            match step {
                Step::One => {
                    outcomes.by_ref().take(1).for_each(|it| it.write(self.version, &mut self.replies))
                }
                Step::Each(count) => {
                    self.replies.array(count);
                    outcomes.by_ref().take(count).for_each(|it| it.write(self.version, &mut self.replies));
                }
                Step::Sum(count) => sum(outcomes.by_ref().take(count)).write(self.version, &mut self.replies),
                Step::Here(command) => {
                    if let Some(end) = here(command, &mut self.version, self.counters, &mut self.replies) {
                        connection.send(Frame::Replies(std::mem::take(&mut self.replies))).await?;
                        return Err(Error::new(ErrorKind::Closed, end));
                    }
                }
            }
            if self.replies.as_bytes().len() > REPLIES {
                connection.send(Frame::Replies(std::mem::take(&mut self.replies))).await?;
            }
        }
        if self.replies.is_empty() {
            return Ok(());
        }
        connection.send(Frame::Replies(std::mem::take(&mut self.replies))).await
    }
}

/// The sum of numbers, or the first outcome that is none.
fn sum(outcomes: impl Iterator<Item = Outcome>) -> Outcome {
    outcomes.fold(Outcome::Number(0), |sum, outcome| match (sum, outcome) {
        (Outcome::Number(sum), Outcome::Number(number)) => Outcome::Number(sum + number),
        (Outcome::Number(_), other) | (other, _) => other,
    })
}

/// Answers a command that needs no store. The reason for which the connection ends, if it does.
fn here(
    command: Command,
    version: &mut Version,
    counters: &Counters,
    replies: &mut Replies,
) -> Option<&'static str> {
    match command {
        Command::Ping(None) => replies.simple("PONG"),
        Command::Ping(Some(word)) | Command::Echo(word) => replies.bulk(&word),
        Command::Hello(wanted) => {
            *version = wanted.unwrap_or(*version);
            hello(*version, replies);
        }
        Command::Info => replies.bulk(info(counters).as_bytes()),
        Command::Count => replies.integer(command::NAMES.len() as i64),
        Command::Commands => replies.array(0),
        Command::Settings(names) => settings(&names, *version, replies),
        Command::Noted => replies.simple("OK"),
        Command::Refused(reason) => replies.error(&reason),
        Command::Quit => {
            replies.simple("OK");
            return Some("the client has quit");
        }
        Command::Malformed(reason) => {
            replies.error(&format!("ERR Protocol error: {reason}"));
            return Some("what the client sent is not RESP");
        }
        // Planned as operations.
        Command::One(_) | Command::GetEach(_) | Command::DeleteEach(_) => {}
    }
    None
}

fn hello(version: Version, replies: &mut Replies) {
    replies.map(6, version);
    let words = [("server", "bertha-kvstore"), ("version", env!("CARGO_PKG_VERSION"))];
    for (name, value) in words {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"proto");
    replies.integer(match version {
        Version::Two => 2,
        Version::Three => 3,
    });
    for (name, value) in [("mode", "standalone"), ("role", "master")] {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
    replies.bulk(b"modules");
    replies.array(0);
}

fn info(counters: &Counters) -> String {
    format!(
        "# Server\r\nserver_name:bertha-kvstore\r\nserver_version:{}\r\nprocess_id:{}\r\n\r\n\
         # Clients\r\nconnected_clients:{}\r\n\r\n# Stats\r\ntotal_commands_processed:{}\r\n",
        env!("CARGO_PKG_VERSION"),
        std::process::id(),
        counters.clients.load(Relaxed),
        counters.commands.load(Relaxed),
    )
}

/// The settings of Redis that this store has by its nature: it keeps nothing on a disk.
fn settings(names: &[Vec<u8>], version: Version, replies: &mut Replies) {
    let known = [("save", ""), ("appendonly", "no")];
    let asked = |name: &str| names.iter().any(|asked| asked.eq_ignore_ascii_case(name.as_bytes()));
    let found: Vec<_> = known.into_iter().filter(|(name, _)| asked(name)).collect();
    replies.map(found.len(), version);
    for (name, value) in found {
        replies.bulk(name.as_bytes());
        replies.bulk(value.as_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resp::Routes;
    use crate::{Capacity, Key};
    use bertha_datapath_sim::pair_of;
    use bertha_runtime_tokio::TokioRuntime;

    async fn received(client: &impl Connection<Data = Frame>) -> Vec<u8> {
        match client.recv().await.unwrap() {
            Frame::Replies(replies) => replies.as_bytes().to_vec(),
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn all_commands_that_arrive_at_once_are_answered_at_once() {
        let (client, server) = pair_of(TokioRuntime);
        let (store, counters) = (SharedStore::new(Capacity::default()), Arc::default());
        let end = Routes::among(1).unwrap().remove(0);
        let session = Session::new(&store, &end.routes, &counters);
        let commands = (0..100).flat_map(|number| {
            [Command::Ping(Some(vec![b'x'; number])), Command::One(Operation::Increment(Key::from("a")))]
        });
        client.send_batch(commands.map(Frame::Command)).await.unwrap();
        let exchanged = async {
            let replies = received(&client).await;
            let expected: String = (0..100)
                .map(|number| format!("${number}\r\n{}\r\n:{}\r\n", "x".repeat(number), number + 1))
                .collect();
            assert_eq!(String::from_utf8(replies).unwrap(), expected);
            client.send(Frame::Command(Command::Quit)).await.unwrap();
            assert_eq!(received(&client).await, b"+OK\r\n");
        };
        let (ended, ()) = tokio::join!(session.serve(&server), exchanged);
        assert_eq!(ended.kind(), ErrorKind::Closed);
    }
}
