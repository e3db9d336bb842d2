//! Answers to commands that need no store.

use super::Session;
use crate::resp::clients::Ending;
use crate::resp::wire::{Replies, Version};
use crate::resp::{Command, Hello, command, info};
use bertha::{Error, ErrorKind};

impl Session<'_> {
    /// Answers a command that needs no store.
    ///
    /// # Errors
    /// The reason for which the connection ends behind the answer, if it does.
    pub(super) fn answer(&mut self, command: Command) -> Result<(), Error> {
        let replies = &mut self.replies;
        match command {
            Command::Ping(None) => replies.simple("PONG"),
            Command::Ping(Some(word)) | Command::Echo(word) => replies.bulk_or_error(&word),
            Command::Hello(wanted) => self.hello(wanted),
            Command::Info(sections) => {
                replies.bulk(info::text(&sections, &self.shared.counters).as_bytes());
            }
            Command::ClientId => replies.integer(number(self.client.id())),
            Command::ClientName if self.name.is_empty() => replies.null(self.version),
            Command::ClientName => replies.bulk(&self.name),
            Command::NameClient(name) => {
                self.name = name;
                replies.simple("OK");
            }
            Command::Count => replies.integer(command::NAMES.len() as i64),
            Command::Commands => replies.array(0),
            Command::Settings(names) => settings(&names, self.version, replies),
            Command::Noted => replies.simple("OK"),
            Command::Refused(reason) | Command::BadLogin(reason) => replies.error(&reason),
            Command::Quit => {
                replies.simple("OK");
                return Err(Error::new(ErrorKind::Closed, "the client has quit"));
            }
            Command::Malformed(reason) => {
                replies.error(&format!("ERR Protocol error: {reason}"));
                return Err(Error::new(ErrorKind::Closed, "what the client sent is not RESP"));
            }
            Command::Web => {
                // Without an answer, as Redis does.
                *replies = Replies::default();
                self.client.end(Ending::Web);
                return Err(Error::new(ErrorKind::Closed, Ending::Web.to_string()));
            }
            // Planned as operations, and answered where clients log in.
            Command::One(_)
            | Command::GetEach(_)
            | Command::DeleteEach(_)
            | Command::CountEach(_)
            | Command::Login(_) => {}
        }
        Ok(())
    }

    fn hello(&mut self, wanted: Hello) {
        self.version = wanted.version.unwrap_or(self.version);
        if let Some(name) = wanted.name {
            self.name = name;
        }
        let replies = &mut self.replies;
        replies.map(7, self.version);
        bulks(replies, &["server", "bertha-kvstore", "version", info::REDIS_VERSION, "proto"]);
        replies.integer(match self.version {
            Version::Two => 2,
            Version::Three => 3,
        });
        bulks(replies, &["id"]);
        replies.integer(number(self.client.id()));
        bulks(replies, &["mode", "standalone", "role", "master", "modules"]);
        replies.array(0);
    }
}

/// As the protocol has it, whose numbers have a sign.
fn number(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

fn bulks(replies: &mut Replies, words: &[&str]) {
    words.iter().for_each(|word| replies.bulk(word.as_bytes()));
}

/// The settings of Redis that this store has by its nature: it keeps nothing on a disk.
fn settings(names: &[Vec<u8>], version: Version, replies: &mut Replies) {
    let known = [("save", ""), ("appendonly", "no")];
    let asked = |name: &str| names.iter().any(|asked| asked.eq_ignore_ascii_case(name.as_bytes()));
    let found: Vec<_> = known.into_iter().filter(|(name, _)| asked(name)).collect();
    replies.map(found.len(), version);
    for (name, value) in found {
        bulks(replies, &[name, value]);
    }
}
