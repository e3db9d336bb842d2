//! The receiving half of a stream.

use super::StreamSocket;
use super::unfinished::{Abandon, Account};
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
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The bytes of a stream without frames that are received in one call, at most.
const CHUNK: usize = 64 << 10;

/// A stream, and the part of the next message that has arrived.
#[derive(Debug)]
pub(super) struct Receiver<S, Data> {
    stream: S,
    /// Never contended, since the endpoint lets one future receive at a time, except by a listener that gives the message up; the lock says
    /// so to the compiler.
    partial: Mutex<Partial>,
    /// The largest message in bytes, for now.
    limit: Arc<AtomicUsize>,
    /// True if the listener has given the stream up.
    is_abandoned: AtomicBool,
    this: Weak<Self>,
    data: PhantomData<fn() -> Data>,
}

/// The part of a message, and the account of its memory if the connection shares memory with others.
#[derive(Debug)]
struct Partial {
    frames: Frames,
    account: Option<Account>,
}

impl<S, Data> Receiver<S, Data> {
    pub(super) fn new(
        stream: S,
        limit: Arc<AtomicUsize>,
        account: Option<Account>,
        this: Weak<Self>,
    ) -> Self {
        let frames = Frames::new(limit.load(Ordering::Relaxed));
        let partial = Mutex::new(Partial { frames, account });
        let is_abandoned = AtomicBool::new(false);
        Self { stream, partial, limit, is_abandoned, this, data: PhantomData }
    }
}

impl<S: StreamSocket, Data: Octets> Abandon for Receiver<S, Data> {
    fn abandon(&self) {
        self.is_abandoned.store(true, Ordering::Relaxed);
        // A stream that can be read no more wakes who waits for it. One that is not connected any more is over as well.
        let _ = SockRef::from(&self.stream).shutdown(Shutdown::Both);
        // One that is just being read drops its message when it finds out.
        if let Some(mut partial) = self.partial.try_lock() {
            partial.frames.discard();
        }
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
        let mut partial = self.partial.lock();
        let Partial { frames, account } = &mut *partial;
        // Relaxed: the limit stands for itself, and whoever lifts it has received the message that lets it.
        frames.set_largest(self.limit.load(Ordering::Relaxed));
        let read = frames.read(read, deliver)?;
        if self.is_abandoned.load(Ordering::Relaxed) {
            frames.discard();
            return Err(io::Error::other(abandoned()));
        }
        if read == 0 {
            return Err(io::Error::other(ended(frames)));
        }
        if frames.is_malformed() {
            // Nothing more will be read. This makes the stream readable, so that a future that waits learns of it.
            SockRef::from(&self.stream).shutdown(Shutdown::Read)?;
        }
        if let Some(account) = account
            && !account.set(frames.held(), || self.this.clone())
        {
            self.is_abandoned.store(true, Ordering::Relaxed);
            SockRef::from(&self.stream).shutdown(Shutdown::Both)?;
        }
        Ok(Received::default())
    }
}

#[cold]
fn abandoned() -> Error {
    let what = "this end gave the stream up, since unfinished messages take more memory than the listener's connections may have together";
    Error::new(ErrorKind::Reset, what)
}

#[cold]
fn ended(frames: &Frames) -> Error {
    if frames.within_message() {
        Error::new(ErrorKind::Reset, "the peer closed the stream in the middle of a message")
    } else {
        Error::new(ErrorKind::Closed, "the peer closed the stream")
    }
}
