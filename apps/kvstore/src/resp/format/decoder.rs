//! Finding commands in the bytes that arrive.

use super::Frame;
use crate::resp::Command;
use crate::resp::clients::{Client, Ending, Held, Memory};
use crate::resp::settings::UNFINISHED;
use crate::resp::wire::{Found, Limits, NO_MEMORY, Scan, Skip};
use bertha::chunnels::framing::Deframe;
use bertha::{Buf, Error, ErrorKind};
use std::sync::Arc;

/// Finds commands. A command that lies within the bytes that arrived at once is not copied. The decoder holds one command at most, of
/// 64 MiB at most, with arguments of 16 MiB at most; all decoders that share a bound hold no more than that together, or the stream of one
/// of them ends.
///
/// A command for which the system has no memory is refused, and its bytes are passed over.
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
    /// The rest of a command for which there was no memory.
    skip: Option<Skip>,
    has_failed: bool,
}

impl CommandDecoder {
    pub(super) fn new(client: Arc<Client>, held: Held) -> Self {
        Self { scan: Scan::default(), client, held, begun: Vec::new(), skip: None, has_failed: false }
    }

    /// Looks for a command at the front of what has begun and `bytes`, and takes it.
    fn find(&mut self, bytes: &mut Buf) -> Result<Option<Command>, Error> {
        let before = self.begun.len();
        if before > 0 && !self.hold(bytes) {
            return self.give_up(None);
        }
        let all: &[u8] = if before > 0 { &self.begun } else { bytes };
        let limits = if self.client.is_stranger() { &Limits::STRANGERS } else { &Limits::ALL };
        let (found, taken) = match self.scan.find(all, limits) {
            Found::Part => {
                let all = bytes.len();
                if before == 0 && !self.hold(bytes) {
                    return self.give_up(Some(bytes));
                }
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

    /// Adds bytes to the command that has begun. Returns false if there is no memory for them.
    fn hold(&mut self, bytes: &[u8]) -> bool {
        let has_room =
            self.begun.try_reserve(bytes.len()).is_ok() || self.begun.try_reserve_exact(bytes.len()).is_ok();
        if has_room {
            self.begun.extend_from_slice(bytes);
        }
        has_room
    }

    /// Lets go of the command that has begun, whose rest is passed over. `unheld` has arrived of it and was read.
    #[cold]
    fn give_up(&mut self, unheld: Option<&mut Buf>) -> Result<Option<Command>, Error> {
        let begun = std::mem::take(&mut self.begun);
        self.held.give_back();
        self.client.set_within_command(true);
        self.skip = match unheld {
            Some(bytes) => {
                let skip = self.scan.skip(bytes);
                let all = bytes.len();
                bytes.advance(all)?;
                skip
            }
            None => self.scan.skip(&begun),
        };
        if self.skip.is_none() {
            self.has_failed = true;
            return Ok(Some(Command::Malformed("there is no memory for it".to_owned())));
        }
        Ok(None)
    }

    /// Passes over the rest of a command, and returns its refusal once it has arrived.
    #[cold]
    fn pass(&mut self, mut skip: Skip, bytes: &mut Buf) -> Result<Option<Command>, Error> {
        let limits = if self.client.is_stranger() { &Limits::STRANGERS } else { &Limits::ALL };
        let refusal = match skip.pass(bytes, limits) {
            Ok((passed, is_whole)) => {
                bytes.advance(passed)?;
                if !is_whole {
                    self.skip = Some(skip);
                    return Ok(None);
                }
                Command::Refused(NO_MEMORY.to_owned())
            }
            Err(reason) => {
                self.has_failed = true;
                Command::Malformed(reason)
            }
        };
        self.client.set_within_command(false);
        Ok(Some(refusal))
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
            } else if let Some(skip) = self.skip.take() {
                if let Some(refusal) = self.pass(skip, bytes)? {
                    return Ok(Some(Frame::Command(refusal)));
                }
            } else if let Some(command) = self.find(bytes)? {
                return Ok(Some(Frame::Command(command)));
            }
        }
        Ok(None)
    }

    fn end(&mut self) -> Result<Option<Frame>, Error> {
        if self.begun.is_empty() && self.skip.is_none() {
            return Ok(None);
        }
        Err(Error::new(ErrorKind::Reset, "the client ended the stream in the middle of a command"))
    }
}
