//! A connection over UDP.

use super::path::Path;
use super::room::Room;
use crate::CaladanBase;
use crate::bindings::UdpSocket;
use bertha_core::{Base, Buf, Connection, Error, Properties};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// A base connection over UDP and Caladan. Closing it sends nothing to the peer, since datagrams have no end.
pub struct CaladanConnection {
    path: Arc<Path>,
    base: CaladanBase,
    closed: AtomicBool,
}

impl CaladanConnection {
    pub(super) fn new(path: Arc<Path>) -> Self {
        let base = CaladanBase::new(Properties::DATAGRAM, UdpSocket::longest(), path.local, path.peer);
        Self { path, base, closed: AtomicBool::new(false) }
    }

    #[inline]
    fn check_open(&self) -> Result<(), Error> {
        // Acquire pairs with the release of `close`, which wakes afterwards.
        if self.closed.load(Ordering::Acquire) { Err(self.base.closed()) } else { Ok(()) }
    }

    #[inline]
    fn try_recv(&self, room: &mut Room) -> Poll<Result<Buf, Error>> {
        match self.check_open().and_then(|()| self.path.try_read(room)) {
            Ok(Some(message)) => Poll::Ready(Ok(message)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    /// Sends a message. Returns false if there is no room for it.
    #[inline]
    fn try_send(&self, message: &Buf) -> Result<bool, Error> {
        self.check_open()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        self.path.try_write(message)
    }

    /// Sends a message once there is room for it.
    async fn send_later(&self, message: Buf) -> Result<(), Error> {
        poll_fn(|cx| {
            self.path.events().wait_to_write(cx);
            match self.try_send(&message) {
                Ok(true) => Poll::Ready(Ok(())),
                Ok(false) => Poll::Pending,
                Err(error) => Poll::Ready(Err(error)),
            }
        })
        .await
    }
}

impl Connection for CaladanConnection {
    type Data = Buf;
    type Base = CaladanBase;

    fn base(&self) -> &CaladanBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if self.try_send(&message)? {
            return Ok(());
        }
        self.send_later(message).await
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        for message in messages {
            if !self.try_send(&message)? {
                self.send_later(message).await?;
            }
        }
        Ok(())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        poll_fn(|cx| {
            let mut room = Room::take();
            let received = self.try_recv(&mut room);
            if received.is_ready() {
                return received;
            }
            self.path.wait_to_read(cx)?;
            self.try_recv(&mut room)
        })
        .await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        let mut room = Room::take();
        // An error behind the first message is lost, as a datagram may be.
        let more = std::iter::from_fn(|| match self.try_recv(&mut room) {
            Poll::Ready(Ok(message)) => Some(message),
            Poll::Ready(Err(_)) | Poll::Pending => None,
        });
        // The messages come as a single iterator, whose state a layer above keeps in registers.
        into.extend(more.take(limit - 1).inspect(|_| received += 1));
        Ok(received)
    }

    /// Returns at once: this layer has no part in a datagram once it was sent.
    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Release);
        self.path.events().wake_all();
        Ok(())
    }
}

impl fmt::Debug for CaladanConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CaladanConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
