//! The sending half of a stream.

use crate::bindings::TcpSocket;
use bertha_core::Buf;
use bertha_core::framing::{HEADER, header};
use std::io::{self, IoSlice};

/// The longest frame that is copied into one piece, as long as a segment. Caladan makes a segment of its own of a header, without the flag that
/// wakes the peer: it would wait for the next segment, which an empty message has not.
const SEGMENT: usize = 1460;

/// Writes whole messages: the rest of one that the stream did not take whole is kept, and goes first.
#[derive(Debug, Default)]
pub(super) struct Writer {
    rest: Vec<u8>,
    /// How much of it is on the stream.
    written: usize,
    /// How many messages have left a rest.
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

    /// Takes a message, once the rest of the one before it is written.
    pub(super) fn write(&mut self, socket: &TcpSocket, message: &Buf) -> io::Result<Mark> {
        self.flush(socket)?;
        let (header, len) = (header(message), HEADER + message.len());
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
