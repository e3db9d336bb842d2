//! Writing messages to a stream that may take a part of one.

use super::parts;
use crate::window::WINDOW;
use bertha_core::framing::{HEADER, header};
use bertha_core::{Buf, Error, Gathered, Octets};
use rustix::net::{SendAncillaryBuffer, SendFlags};
use std::array::from_fn;
use std::io::{self, IoSlice};
use std::marker::PhantomData;
use std::os::fd::AsFd;

/// How many of the bytes that were handed over are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// How many whole messages the stream and the writer took.
    pub(super) messages: usize,
    /// The writer's mark when all of them are on the stream; see [`Writer::passed`].
    pub(super) mark: u64,
}

/// The end of the last message, where the stream took only the first part. It goes out before anything else, with any call that
/// writes next, so that no cancelled `send` leaves half a message.
#[derive(Debug)]
pub(super) struct Writer<Data> {
    rest: Option<Gathered>,
    /// How many rests there have been.
    begun: u64,
    /// The number of system calls that have written something.
    calls: u64,
    data: PhantomData<fn() -> Data>,
}

impl<Data: Octets> Writer<Data> {
    /// The bytes of the header in front of each message; none without frames.
    const HEADER: usize = if Data::HAS_BOUNDS { HEADER } else { 0 };

    pub(super) fn new() -> Self {
        Self { rest: None, begun: 0, calls: 0, data: PhantomData }
    }

    /// Returns true if all bytes up to this mark are on the stream.
    pub(super) fn passed(&self, mark: u64) -> bool {
        self.begun > mark || self.rest.is_none()
    }

    /// Returns how many system calls have written something.
    pub(super) fn calls(&self) -> u64 {
        self.calls
    }

    /// Writes the rest of the last message.
    pub(super) fn flush(&mut self, stream: impl AsFd) -> io::Result<()> {
        while let Some(rest) = &mut self.rest {
            rest.advance(parts::write(&stream, rest)?);
            self.calls += 1;
            if rest.is_empty() {
                self.rest = None;
            }
        }
        Ok(())
    }

    /// Takes a message whose parts lie apart, behind the rest of the last one, and writes as much of it as the stream takes. Returns the mark
    /// at which all of it is on the stream.
    pub(super) fn write_gathered(
        &mut self,
        stream: impl AsFd,
        message: &mut Option<Gathered>,
    ) -> io::Result<u64> {
        self.flush(&stream)?;
        if let Some(message) = message.take() {
            self.rest = Some(Self::framed(message).map_err(io::Error::other)?);
            self.begun += 1;
        }
        match self.flush(&stream) {
            // The message is here, and goes on like any rest.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(self.begun),
            written => written.map(|()| self.begun),
        }
    }

    /// Puts the header in front of a message.
    fn framed(message: Gathered) -> Result<Gathered, Error> {
        let header = (message.len() as u32).to_be_bytes();
        message.with_bytes(|mut bytes| {
            if bytes.headroom() < Self::HEADER {
                bytes = Buf::copy_of(&bytes, Self::HEADER)?;
            }
            bytes.prepend(Self::HEADER)?.copy_from_slice(&header[..Self::HEADER]);
            Ok(bytes)
        })
    }

    /// Writes the first messages, at least one of them.
    pub(super) fn write<'a>(
        &mut self,
        stream: impl AsFd,
        messages: impl Iterator<Item = &'a Buf> + Clone,
    ) -> io::Result<Written> {
        self.flush(&stream)?;
        // Slices for a whole window take longer to set up than one message to write.
        let mut written = match messages.clone().nth(1) {
            None => Self::write_some::<1>(&stream, messages.clone())?,
            Some(_) => Self::write_some::<WINDOW>(&stream, messages.clone())?,
        };
        self.calls += 1;
        let mut whole = 0;
        for message in messages {
            let len = Self::HEADER + message.len();
            if written == 0 && len > 0 {
                break;
            }
            whole += 1;
            if written < len {
                self.rest = Some(remainder(Self::HEADER, message, written).map_err(io::Error::other)?.into());
                self.begun += 1;
                break;
            }
            written -= len;
        }
        Ok(Written { messages: whole, mark: self.begun })
    }

    /// Writes up to `N` messages, and returns how many bytes the stream took.
    fn write_some<'a, const N: usize>(
        stream: impl AsFd,
        messages: impl Iterator<Item = &'a Buf> + Clone,
    ) -> io::Result<usize> {
        let mut lengths = messages.clone().map(header);
        let headers: [_; N] = from_fn(|_| lengths.next().unwrap_or_default());
        let mut parts = headers.iter().zip(messages);
        let mut count = 0;
        let slices: [_; N] = from_fn(|_| match parts.next() {
            Some((header, message)) => {
                count += 1;
                [IoSlice::new(&header[..Self::HEADER]), IoSlice::new(message)]
            }
            None => [IoSlice::new(&[]); 2],
        });
        write(stream, slices[..count].as_flattened())
    }
}

/// The rest of a message with its header behind the first `written` bytes. A copy: the stream is full, so the time is there.
fn remainder(length: usize, message: &Buf, written: usize) -> Result<Buf, Error> {
    let header = header(message);
    let mut rest = Buf::new(length + message.len(), 0)?;
    rest[..length].copy_from_slice(&header[..length]);
    rest[length..].copy_from_slice(message);
    rest.advance(written)?;
    Ok(rest)
}

fn write(stream: impl AsFd, parts: &[IoSlice<'_>]) -> io::Result<usize> {
    // A stream that the peer closed is an error, not a signal.
    Ok(rustix::net::sendmsg(stream, parts, &mut SendAncillaryBuffer::default(), SendFlags::NOSIGNAL)?)
}
