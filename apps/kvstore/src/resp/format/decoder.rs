//! Finding commands in the bytes that arrive.

use super::Frame;
use crate::resp::Command;
use crate::resp::wire::{Arguments, Found, Scan};
use bertha::chunnels::framing::Deframe;
use bertha::{Buf, Error, ErrorKind};

/// Finds commands. One that lies within the bytes that arrived at once is not copied. It holds one command at most, of 64 MiB at most, with
/// arguments of 16 MiB at most.
///
/// Behind bytes that are no command, nothing can be found: it gives [`Command::Malformed`] once, and swallows whatever comes.
#[derive(Debug, Default)]
pub struct CommandDecoder {
    scan: Scan,
    /// The beginning of a command whose end has not arrived.
    begun: Vec<u8>,
    has_failed: bool,
}

impl CommandDecoder {
    /// Looks for a command at the front of what has begun and `bytes`, and takes it.
    fn find(&mut self, bytes: &mut Buf) -> Result<Option<Command>, Error> {
        let before = self.begun.len();
        if before > 0 {
            self.begun.extend_from_slice(bytes);
        }
        let all: &[u8] = if before > 0 { &self.begun } else { bytes };
        let (found, taken) = match self.scan.find(all) {
            Found::Part => {
                if before == 0 {
                    self.begun.extend_from_slice(bytes);
                }
                let all = bytes.len();
                bytes.advance(all)?;
                return Ok(None);
            }
            Found::Nothing(taken) => (None, taken),
            Found::Command(taken) => (Some(Command::parse(&Arguments::new(all, self.scan.places()))), taken),
            Found::Malformed(reason) => {
                self.has_failed = true;
                (Some(Command::Malformed(reason)), all.len())
            }
        };
        self.begun = Vec::new();
        // What came before these bytes was a part of it.
        bytes.advance(taken.saturating_sub(before))?;
        Ok(found)
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
