//! The socket of a connection, and its repair.

use super::known::{Early, Known};
use super::room::Room;
use crate::bindings::{self, Events, UdpSocket};
use crate::failure::failed;
use bertha_core::{Buf, Error};
use parking_lot::{Mutex, RwLock};
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::task::Context;

/// Number of failed messages after which a socket is replaced. Caladan counts failed messages as under way
/// forever, and allows 2,048.
const FAILURES: usize = 1024;

/// One end of a path between two addresses, for as long as the connection exists.
///
/// A socket is replaced by another socket for its addresses once it is of no use any more: errors stay on a
/// Caladan socket, and so do messages that could not be sent. The content of its queue is lost then, as
/// datagrams may be.
#[derive(Debug)]
pub(super) struct Path {
    /// The first socket, until `is_replaced`; then it is shut. With it, calls take no lock before the first
    /// failure.
    first: UdpSocket,
    is_replaced: AtomicBool,
    /// The replacement; `None` if no socket could be opened. Replacing takes the lock exclusively; calls
    /// share it.
    replacement: RwLock<Option<UdpSocket>>,
    events: Arc<Events>,
    pub(super) local: SocketAddrV4,
    pub(super) peer: SocketAddrV4,
    failures: AtomicUsize,
    /// Length of the longest message.
    longest: usize,
    accepted: Option<Accepted>,
}

/// The link between an accepted connection and its listener.
#[derive(Debug)]
pub(super) struct Accepted {
    pub(super) early: Arc<Early>,
    pub(super) known: Weak<Mutex<Known>>,
}

impl Path {
    pub(super) fn new(first: UdpSocket, peer: SocketAddrV4, accepted: Option<Accepted>) -> Self {
        let events = first.events().clone();
        let local = first.local();
        Self {
            first,
            is_replaced: AtomicBool::new(false),
            replacement: RwLock::new(None),
            events,
            local,
            peer,
            failures: AtomicUsize::new(0),
            longest: UdpSocket::longest(),
            accepted,
        }
    }

    pub(super) fn events(&self) -> &Events {
        &self.events
    }

    /// Registers a future that wants to read, which has to try again afterwards. Fails on threads outside of
    /// the runtime, which would not be woken in time.
    #[inline]
    pub(super) fn wait_to_read(&self, cx: &Context<'_>) -> Result<(), Error> {
        bindings::check_thread().map_err(|error| failed(error, &format!("receive from {}", self.peer)))?;
        self.events.wait_to_read(cx);
        Ok(())
    }

    /// Returns the next message, or `None` if no message is there.
    #[inline]
    pub(super) fn try_read(&self, room: &mut Room) -> Result<Option<Buf>, Error> {
        if let Some(accepted) = &self.accepted
            && let Some(message) = accepted.early.next()
        {
            return Ok(Some(message));
        }
        if !self.events.may_be_readable() {
            return Ok(None);
        }
        let into = room.of(self.longest)?;
        match self.receive(into) {
            Ok(len) => room.message(len).map(Some),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => {
                self.replace_socket();
                Err(failed(error, &format!("receive from {}", self.peer)))
            }
        }
    }

    /// Sends a message. Returns false if there is no room for it.
    #[inline]
    pub(super) fn try_write(&self, message: &[u8]) -> Result<bool, Error> {
        match self.send(message) {
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

    /// Returns the length of the next message. The length is never 0 because the socket was shut.
    #[inline]
    fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        if !self.is_replaced() {
            match self.first.receive(into) {
                // The socket may have been shut at this moment.
                Ok(0) | Err(_) if self.is_replaced() => {}
                received => return received,
            }
        }
        self.with_replacement(|socket| socket.receive(into))
    }

    #[inline]
    fn send(&self, message: &[u8]) -> io::Result<()> {
        if !self.is_replaced() {
            match self.first.send(message) {
                Err(_) if self.is_replaced() => {}
                sent => return sent,
            }
        }
        self.with_replacement(|socket| socket.send(message))
    }

    #[inline]
    fn is_replaced(&self) -> bool {
        // Acquire pairs with the release before the socket is shut. A call that finds the socket shut also
        // finds the flag set, by the lock in the socket.
        self.is_replaced.load(Ordering::Acquire)
    }

    #[cold]
    fn with_replacement<T>(&self, call: impl FnOnce(&UdpSocket) -> io::Result<T>) -> io::Result<T> {
        let gone = || io::Error::other("the socket could not be replaced after an error");
        self.replacement.read().as_ref().ok_or_else(gone).and_then(call)
    }

    #[cold]
    fn replace_socket(&self) {
        if bindings::check_thread().is_err() {
            // The socket works.
            return;
        }
        let mut replacement = self.replacement.write();
        self.is_replaced.store(true, Ordering::Release);
        // Two sockets can't have the same two addresses, so the old socket closes first.
        drop(replacement.take());
        let next = self.first.shut_down();
        match next.and_then(|()| UdpSocket::dial(self.local, self.peer, self.events.clone())) {
            Ok(next) => *replacement = Some(next),
            Err(error) => {
                tracing::error!(%error, peer = %self.peer, "the socket of a connection can't be replaced")
            }
        }
        drop(replacement);
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
