//! The receiving half of a TCP connection.

use crate::async_socket::{AsyncSocket, Left};
use crate::endpoint::{Received, ReceivingSocket, Request};
use bertha_core::framing::Frames;
use bertha_core::{Buf, Error, ErrorKind};
use parking_lot::Mutex;
use rustix::net::RecvFlags;
use socket2::SockRef;
use std::io;
use std::net::{Shutdown, SocketAddr};
use tokio::net::TcpStream;

/// A stream, and the part of the next message that has arrived.
#[derive(Debug)]
pub(super) struct TcpSocket {
    stream: TcpStream,
    peer: SocketAddr,
    /// Never contended, since the endpoint lets one future receive at a time; the lock says so to the compiler.
    frames: Mutex<Frames>,
}

impl TcpSocket {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, largest: usize) -> Self {
        Self { stream, peer, frames: Mutex::new(Frames::new(largest)) }
    }
}

impl ReceivingSocket for TcpSocket {
    type Peer = SocketAddr;
    type Socket = TcpStream;

    fn socket(&self) -> &TcpStream {
        &self.stream
    }

    fn receive(
        &self,
        request: Request,
        mut deliver: impl FnMut(&SocketAddr, usize, Buf),
    ) -> io::Result<Received> {
        let mut frames = self.frames.lock();
        let read = |room: &mut [u8]| {
            self.stream.attempt(request.eager, || {
                let space = room.len();
                let (_, read) = rustix::net::recv(&self.stream, room, RecvFlags::empty())?;
                let left = if 0 < read && read < space { Left::Nothing } else { Left::Unknown };
                Ok((read, left))
            })
        };
        let deliver = |message: Buf| deliver(&self.peer, message.len(), message);
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
