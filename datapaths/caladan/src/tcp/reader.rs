//! The receiving half of a stream.

use super::WINDOW;
use crate::bindings::TcpSocket;
use crate::failure::{NAME, failed, failure};
use bertha_core::framing::Frames;
use bertha_core::{Buf, Error, ErrorKind};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;

thread_local! {
    /// The room for one reading call of any connection. A window fits, since Caladan loses the rest of a last segment that does not.
    static ROOM: RefCell<Vec<u8>> = RefCell::new(vec![0; WINDOW as usize]);
}

/// Makes messages of a stream.
#[derive(Debug)]
pub(super) struct Reader {
    frames: Frames,
    /// The messages of one reading call.
    messages: VecDeque<Buf>,
}

impl Reader {
    pub(super) fn new(largest: usize) -> Self {
        Self { frames: Frames::new(largest), messages: VecDeque::new() }
    }

    /// The next message, or `None` if none is there. Reads only when all messages were taken.
    pub(super) fn next(&mut self, socket: &TcpSocket) -> Result<Option<Buf>, Error> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(Some(message));
            }
            if self.frames.is_malformed() {
                // It says so before it reads.
                return not_read(
                    self.frames
                        .read(|_| Ok(0), drop)
                        .err()
                        .unwrap_or_else(|| io::ErrorKind::InvalidData.into()),
                );
            }
            let read = ROOM.with_borrow_mut(|room| {
                let read = socket.read(room)?;
                self.frame(&room[..read])?;
                Ok(read)
            });
            match read {
                Ok(0) => return Err(self.ended()),
                Ok(_) => {}
                Err(error) => return not_read(error),
            }
        }
    }

    /// The next message, if one has been read already.
    pub(super) fn next_read(&mut self) -> Option<Buf> {
        self.messages.pop_front()
    }

    /// Makes messages of all of `bytes`.
    fn frame(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let take = |room: &mut [u8]| {
                let len = bytes.len().min(room.len());
                room[..len].copy_from_slice(&bytes[..len]);
                Ok(len)
            };
            let taken = self.frames.read(take, |message| self.messages.push_back(message))?;
            bytes = &bytes[taken..];
            if self.frames.is_malformed() && !self.messages.is_empty() {
                // The messages before it come first; the next read fails.
                break;
            }
        }
        Ok(())
    }

    #[cold]
    fn ended(&self) -> Error {
        if self.frames.within_message() {
            failure(ErrorKind::Reset, "the peer closed the stream in the middle of a message")
        } else {
            failure(ErrorKind::Closed, "the peer has closed the stream")
        }
    }
}

/// `None` if there was nothing to read.
#[cold]
fn not_read(error: io::Error) -> Result<Option<Buf>, Error> {
    if error.kind() == io::ErrorKind::WouldBlock {
        return Ok(None);
    }
    // That of a peer that does not frame as we do.
    let error =
        error.downcast::<Error>().map_or_else(|error| failed(error, "receive"), |error| error.at(NAME));
    Err(if error.kind() == ErrorKind::Exhausted { error } else { error.ending_connection() })
}
