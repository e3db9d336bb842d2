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
    /// Memory for a reading call of any connection. A whole window fits, since Caladan loses the rest of a
    /// last segment that does not fit.
    static ROOM: RefCell<Vec<u8>> = RefCell::new(vec![0; WINDOW as usize]);
}

/// A reader that makes messages of a stream.
#[derive(Debug)]
pub(super) struct Reader {
    frames: Frames,
    /// Messages of the last reading call.
    messages: VecDeque<Buf>,
}

impl Reader {
    pub(super) fn new(largest: usize) -> Self {
        Self { frames: Frames::new(largest), messages: VecDeque::new() }
    }

    /// Returns the next message, or `None` if no message is there. Reads only when all messages were taken.
    pub(super) fn next(&mut self, socket: &TcpSocket) -> Result<Option<Buf>, Error> {
        loop {
            if let Some(message) = self.messages.pop_front() {
                return Ok(Some(message));
            }
            if self.frames.is_malformed() {
                // `read` returns the error before it reads.
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

    /// Returns the next message, if it has been read already.
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
                // The messages before the error come first; the next read fails.
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

/// Returns `None` if there was nothing to read, and the error otherwise.
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
