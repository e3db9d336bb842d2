//! The receiving half of a TCP connection.

use super::Tcp;
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

/// The bytes of an unframed stream that are received in one call, at most.
const UNFRAMED: usize = 64 << 10;

/// A stream, and the part of the next message that has arrived.
#[derive(Debug)]
pub(super) struct TcpSocket {
    stream: TcpStream,
    peer: SocketAddr,
    /// Never contended, since the endpoint lets one future receive at a time; the lock says so to the compiler. `None` without
    /// frames.
    frames: Mutex<Option<Frames>>,
}

impl TcpSocket {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, options: &Tcp) -> Self {
        let frames = options.is_framed.then(|| Frames::new(options.largest));
        Self { stream, peer, frames: Mutex::new(frames) }
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
        let mut deliver = |message: Buf| deliver(&self.peer, message.len(), message);
        let Some(frames) = &mut *frames else {
            let mut bytes = Buf::new(UNFRAMED, 0).map_err(io::Error::other)?;
            let read = read(&mut bytes)?;
            if read == 0 {
                return Err(io::Error::other(Error::new(ErrorKind::Closed, "the peer closed the stream")));
            }
            deliver(bytes.fitted(read));
            return Ok(Received::default());
        };
        if frames.read(read, deliver)? > 0 {
            if frames.is_malformed() {
                // Nothing more will be read. This makes the stream readable, so that a future that waits learns of it.
                SockRef::from(&self.stream).shutdown(Shutdown::Read)?;
            }
            return Ok(Received::default());
        }
        Err(io::Error::other(ended(frames)))
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
