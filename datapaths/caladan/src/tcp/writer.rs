//! The sending half of a stream.

use crate::bindings::TcpSocket;
use bertha_core::Buf;
use bertha_core::framing::{HEADER, header};
use std::io::{self, IoSlice};

/// Length of the longest frame that is copied into a single piece, equal to a segment. Otherwise Caladan
/// makes a separate segment of a header, without the flag that wakes the peer: the peer would wait for the
/// next segment, which an empty message does not have.
const SEGMENT: usize = 1460;

/// A writer of whole messages. If the stream does not take all of a message, the rest is kept, and written
/// first.
#[derive(Debug, Default)]
pub(super) struct Writer {
    rest: Vec<u8>,
    /// Number of bytes of the rest that the stream has taken.
    written: usize,
    /// Number of messages that have left a rest.
    begun: u64,
}

/// The place of a message in the stream.
#[derive(Debug, Clone, Copy)]
pub(super) struct Mark(u64);

impl Writer {
    /// Writes the rest of the last message.
    pub(super) fn flush(&mut self, socket: &TcpSocket) -> io::Result<()> {
        while self.written < self.rest.len() {
            self.written += socket.write(&[IoSlice::new(&self.rest[self.written..])])?;
        }
        // An idle connection keeps no memory.
        (self.rest, self.written) = (Vec::new(), 0);
        Ok(())
    }

    /// Writes a message, once the rest of the previous message is written.
    pub(super) fn write(&mut self, socket: &TcpSocket, message: &Buf) -> io::Result<Mark> {
        self.flush(socket)?;
        let header = header(message);
        let len = HEADER + message.len();
        let written = if len <= SEGMENT {
            let mut frame = [0; SEGMENT];
            frame[..HEADER].copy_from_slice(&header);
            frame[HEADER..len].copy_from_slice(message);
            socket.write(&[IoSlice::new(&frame[..len])])?
        } else {
            socket.write(&[IoSlice::new(&header), IoSlice::new(message)])?
        };
        if written < len {
            let whole = [&header[..], message].concat();
            (self.rest, self.written) = (whole, written);
            self.begun += 1;
        }
        Ok(Mark(self.begun))
    }

    /// Writes until the message with this mark is on the stream.
    pub(super) fn pass(&mut self, socket: &TcpSocket, mark: Mark) -> io::Result<()> {
        if self.begun > mark.0 { Ok(()) } else { self.flush(socket) }
    }
}
