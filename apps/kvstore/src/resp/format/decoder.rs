//! Finding commands in the bytes that arrive.

use super::Frame;
use crate::resp::Command;
use crate::resp::clients::{Client, Ending, Held, Memory};
use crate::resp::settings::UNFINISHED;
use crate::resp::wire::{Found, Limits, Scan};
use bertha::chunnels::framing::Deframe;
use bertha::{Buf, Error, ErrorKind};
use std::sync::Arc;

/// Finds commands. A command that lies within the bytes that arrived at once is not copied. The decoder holds one command at most, of
/// 64 MiB at most, with arguments of 16 MiB at most; all decoders that share a bound hold no more than that together, or the stream of one
/// of them ends.
///
/// Behind bytes that are no command, nothing can be found: it gives [`Command::Malformed`] once, and swallows whatever comes.
#[derive(Debug)]
pub struct CommandDecoder {
    scan: Scan,
    client: Arc<Client>,
    /// The part of the memory for unfinished commands that `begun` and `scan` take.
    held: Held,
    /// The beginning of a command whose end has not arrived.
    begun: Vec<u8>,
    has_failed: bool,
}

impl CommandDecoder {
    pub(super) fn new(client: Arc<Client>, held: Held) -> Self {
        Self { scan: Scan::default(), client, held, begun: Vec::new(), has_failed: false }
    }

    /// Looks for a command at the front of what has begun and `bytes`, and takes it.
    fn find(&mut self, bytes: &mut Buf) -> Result<Option<Command>, Error> {
        let before = self.begun.len();
        if before > 0 {
            self.begun.extend_from_slice(bytes);
        }
        let all: &[u8] = if before > 0 { &self.begun } else { bytes };
        let limits = if self.client.is_stranger() { &Limits::STRANGERS } else { &Limits::ALL };
        let (found, taken) = match self.scan.find(all, limits) {
            Found::Part => {
                if before == 0 {
                    self.begun.extend_from_slice(bytes);
                }
                let all = bytes.len();
                bytes.advance(all)?;
                self.client.set_within_command(true);
                self.held.set(self.begun.capacity() + self.scan.memory())?;
                return Ok(None);
            }
            Found::Nothing(taken) => (None, taken),
            Found::Command(taken) => (Some(Command::parse(&self.scan.arguments(all))), taken),
            Found::Malformed(reason) => {
                self.has_failed = true;
                (Some(Command::Malformed(reason)), all.len())
            }
        };
        self.scan.release();
        if before > 0 {
            self.begun = Vec::new();
            self.client.set_within_command(false);
            self.held.give_back();
        }
        // What came before these bytes was a part of it.
        bytes.advance(taken.saturating_sub(before))?;
        Ok(found)
    }
}

impl Default for CommandDecoder {
    /// A decoder for a client that shares no bound with others.
    fn default() -> Self {
        let client = Arc::new(Client::alone());
        let held = Held::nothing(&Memory::new(UNFINISHED, Ending::Unfinished), &client);
        Self::new(client, held)
    }
}

impl Deframe for CommandDecoder {
    type Message = Frame;

    fn decode(&mut self, bytes: &mut Buf) -> Result<Option<Frame>, Error> {
        while !bytes.is_empty() {
            if self.has_failed {
                let all = bytes.len();
                bytes.advance(all)?;
            } else if let Some(command) = self.find(bytes)? {
                return Ok(Some(Frame::Command(command)));
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<Frame>, Error> {
        if self.begun.is_empty() {
            return Ok(None);
        }
        Err(Error::new(ErrorKind::Reset, "the client ended the stream in the middle of a command"))
    }
}
