//! The receiving half of a stream.

use super::StreamSocket;
use crate::async_socket::Left;
use crate::endpoint::{Received, ReceivingSocket, Request};
use bertha_core::framing::Frames;
use bertha_core::{Buf, Error, ErrorKind, Octets};
use parking_lot::Mutex;
use rustix::net::RecvFlags;
use socket2::SockRef;
use std::io;
use std::marker::PhantomData;
use std::net::Shutdown;

/// The bytes of a stream without frames that are received in one call, at most.
const CHUNK: usize = 64 << 10;

/// A stream, and the part of the next message that has arrived.
#[derive(Debug)]
pub(super) struct Receiver<S, Data> {
    stream: S,
    /// Never contended, since the endpoint lets one future receive at a time; the lock says so to the compiler.
    frames: Mutex<Frames>,
    data: PhantomData<fn() -> Data>,
}

impl<S, Data> Receiver<S, Data> {
    pub(super) fn new(stream: S, largest: usize) -> Self {
        Self { stream, frames: Mutex::new(Frames::new(largest)), data: PhantomData }
    }
}

impl<S: StreamSocket, Data: Octets> ReceivingSocket for Receiver<S, Data> {
    /// The socket has one.
    type Peer = ();
    type Socket = S;

    fn socket(&self) -> &S {
        &self.stream
    }

    fn receive(&self, request: Request, mut deliver: impl FnMut(&(), usize, Buf)) -> io::Result<Received> {
        let read = |room: &mut [u8]| {
            self.stream.attempt(request.eager, || {
                let space = room.len();
                let (_, read) = rustix::net::recv(&self.stream, room, RecvFlags::empty())?;
                let left = if 0 < read && read < space { Left::Nothing } else { Left::Unknown };
                Ok((read, left))
            })
        };
        let mut deliver = |message: Buf| deliver(&(), message.len(), message);
        if !Data::HAS_BOUNDS {
            let mut bytes = Buf::new(CHUNK, 0).map_err(io::Error::other)?;
            // None at the end of the stream, which is what an empty chunk means.
            let read = read(&mut bytes)?;
            deliver(bytes.fitted(read));
            return Ok(Received::default());
        }
        let mut frames = self.frames.lock();
        if frames.read(read, deliver)? > 0 {
            if frames.is_malformed() {
                // Nothing more will be read. This makes the stream readable, so that a future that waits learns of it.
                SockRef::from(&self.stream).shutdown(Shutdown::Read)?;
            }
            return Ok(Received::default());
        }
        Err(io::Error::other(ended(&frames)))
    }
}

#[cold]
fn ended(frames: &Frames) -> Error {
    if frames.within_message() {
        Error::new(ErrorKind::Reset, "the peer closed the stream in the middle of a message")
    } else {
        Error::new(ErrorKind::Closed, "the peer closed the stream")
    }
}
