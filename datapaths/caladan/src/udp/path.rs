//! The socket of a connection, and what repairs it.

use super::known::{Early, Known};
use crate::bindings::{Events, UdpSocket};
use crate::failure::failed;
use bertha_core::{Buf, Error};
use parking_lot::{Mutex, RwLock};
use std::cell::Cell;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};

/// The messages that failed to be sent after which a socket is replaced. Caladan counts them as under way for ever, and takes 2,048.
const FAILURES: usize = 1024;

/// The longest messages that are copied to a smaller buffer: beyond it there is none in the pool.
const FEW: usize = 512;

thread_local! {
    /// Room for the next datagram of any socket. Caladan copies a datagram before it tells its length.
    static ROOM: Cell<Option<Buf>> = const { Cell::new(None) };
}

/// One end of a path between two addresses, for as long as anybody has the connection.
///
/// A socket is replaced by another one for the same addresses once Caladan's is of no use any more: an error sticks to it, and so do messages
/// that could not be sent. What was in its queue is lost then, as datagrams may be.
#[derive(Debug)]
pub(super) struct Path {
    /// `None` if it could not be replaced. The lock is for replacing; calls share it.
    socket: RwLock<Option<UdpSocket>>,
    events: Arc<Events>,
    pub(super) local: SocketAddrV4,
    pub(super) peer: SocketAddrV4,
    failures: AtomicUsize,
    /// The length of the longest message.
    longest: usize,
    accepted: Option<Accepted>,
}

/// The part of its listener that an accepted connection has.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) early: Arc<Early>,
    pub(super) known: Weak<Mutex<Known>>,
}

impl Path {
    pub(super) fn new(socket: UdpSocket, peer: SocketAddrV4, accepted: Option<Accepted>) -> Self {
        let (events, local) = (socket.events().clone(), socket.local());
        let (socket, longest) = (RwLock::new(Some(socket)), UdpSocket::longest());
        Self { socket, events, local, peer, failures: AtomicUsize::new(0), longest, accepted }
    }

    #[inline]
    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    /// The next message, or `None` if none is there.
    #[inline]
    pub(super) fn try_read(&self) -> Result<Option<Buf>, Error> {
        if let Some(accepted) = &self.accepted
            && let Some(message) = accepted.early.next()
        {
            return Ok(Some(message));
        }
        let mut room = match ROOM.take() {
            Some(room) => room,
            None => Buf::new(self.longest, 0)?,
        };
        let read = self.with_socket(|socket| socket.read(&mut room));
        let message = match read {
            Ok((len, _)) if len > FEW => {
                room.truncate(len);
                return Ok(Some(room));
            }
            Ok((len, _)) => Buf::copy_of(&room[..len], 0).map(Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => {
                self.replace_socket();
                Err(failed(error, &format!("receive from {}", self.peer)))
            }
        };
        ROOM.set(Some(room));
        message
    }

    /// Sends a message. `false` if there is no room for it.
    #[inline]
    pub(super) fn try_write(&self, message: &[u8]) -> Result<bool, Error> {
        match self.with_socket(|socket| socket.write(message)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => {
                if self.failures.fetch_add(1, Ordering::Relaxed) >= FAILURES {
                    self.failures.store(0, Ordering::Relaxed);
                    self.replace_socket();
                }
                Err(failed(error, &format!("send to {}", self.peer)))
            }
        }
    }

    #[inline]
    fn with_socket<T>(&self, call: impl FnOnce(&UdpSocket) -> io::Result<T>) -> io::Result<T> {
        let gone = || io::Error::other("the socket could not be replaced after an error");
        self.socket.read().as_ref().ok_or_else(gone).and_then(call)
    }

    #[cold]
    fn replace_socket(&self) {
        let mut socket = self.socket.write();
        // Two sockets can't have the same two addresses.
        drop(socket.take());
        match UdpSocket::dial(self.local, self.peer, self.events.clone()) {
            Ok(next) => *socket = Some(next),
            Err(error) => {
                tracing::error!(%error, peer = %self.peer, "the socket of a connection can't be replaced")
            }
        }
        drop(socket);
        self.events.wake_all();
    }
}

impl Drop for Path {
    fn drop(&mut self) {
        if let Some(Accepted { early, known }) = &self.accepted
            && let Some(known) = known.upgrade()
        {
            known.lock().forget(self.peer, early);
        }
    }
}
