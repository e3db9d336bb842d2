//! A connection over UDP.

use super::path::Path;
use crate::CaladanBase;
use crate::bindings::UdpSocket;
use bertha_core::{Base, Buf, Connection, Error, Properties};
use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::Poll;

/// A base connection over UDP and Caladan. Closing it tells the peer nothing, since datagrams have no end.
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
        // Acquire, for the release of `close`, which wakes afterwards.
        if self.closed.load(Ordering::Acquire) { Err(self.base.closed()) } else { Ok(()) }
    }

    #[inline]
    fn try_recv(&self) -> Poll<Result<Buf, Error>> {
        match self.check_open().and_then(|()| self.path.try_read()) {
            Ok(Some(message)) => Poll::Ready(Ok(message)),
            Ok(None) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }

    #[inline]
    fn try_send(&self, message: &Buf) -> Poll<Result<(), Error>> {
        match self.check_open().and_then(|()| self.path.try_write(message)) {
            Ok(true) => Poll::Ready(Ok(())),
            Ok(false) => Poll::Pending,
            Err(error) => Poll::Ready(Err(error)),
        }
    }
}

impl Connection for CaladanConnection {
    type Data = Buf;
    type Base = CaladanBase;

    fn base(&self) -> &CaladanBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        poll_fn(|cx| {
            let sent = self.try_send(&message);
            if sent.is_ready() {
                return sent;
            }
            self.path.events().wait_to_write(cx);
            self.try_send(&message)
        })
        .await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        poll_fn(|cx| {
            let received = self.try_recv();
            if received.is_ready() {
                return received;
            }
            self.path.events().wait_to_read(cx);
            self.try_recv()
        })
        .await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        into.extend(Some(self.recv().await?));
        let mut received = 1;
        // An error of these is lost, as a datagram may be.
        while received < limit
            && let Poll::Ready(Ok(message)) = self.try_recv()
        {
            into.extend(Some(message));
            received += 1;
        }
        Ok(received)
    }

    /// A datagram is out of this layer's hands once it was sent.
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
