//! A UDP connection: a connected socket, or a peer of a listener's socket.

use super::burst::{self, Step};
use super::socket::UdpSocket;
use crate::SocketBase;
use crate::endpoint::Endpoint;
use crate::window::Window;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use rustix::io::Errno;
use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::Interest;

/// A base connection over UDP, to one peer.
///
/// Over UDP nobody notices that a peer is gone, except that a closed port is reported to the end that connected.
/// [`close`](Connection::close) ends the connection at this end alone: telling the peer is up to the layer above.
pub struct UdpConnection {
    endpoint: Arc<Endpoint<UdpSocket>>,
    slot: usize,
    base: SocketBase,
    /// Where to send to, unless the socket is connected.
    to: Option<SocketAddr>,
    closed: AtomicBool,
    /// Whether runs may go as one segmented datagram; the path may turn out not to allow it.
    segment: AtomicBool,
}

impl UdpConnection {
    pub(super) fn new(
        endpoint: Arc<Endpoint<UdpSocket>>,
        slot: usize,
        base: SocketBase,
        to: Option<SocketAddr>,
    ) -> Self {
        let segment = AtomicBool::new(endpoint.socket().segments());
        Self { endpoint, slot, base, to, closed: AtomicBool::new(false), segment }
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flag stands for itself; what `close` did to the queue is under the lock.
        if self.closed.load(Ordering::Relaxed) { Err(self.base.closed()) } else { Ok(()) }
    }

    /// Runs `send` until it does not block. Asks the kernel first: the socket is writable nearly always.
    #[inline]
    async fn when_writable<T>(&self, mut send: impl FnMut() -> io::Result<T> + Send) -> io::Result<T> {
        match send() {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            done => return done,
        }
        let io = &self.endpoint.socket().io;
        loop {
            io.writable().await?;
            match io.try_io(Interest::WRITABLE, &mut send) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                done => return done,
            }
        }
    }

    /// Sends the first messages of a burst that go in one call, and returns how many they were.
    fn send_some(&self, window: &Window) -> io::Result<usize> {
        let socket = self.endpoint.socket();
        let step = burst::plan(window.iter().map(|message| message.len()));
        let Step::Segmented(count) = step else {
            return socket.send_separate(window, step.count(), self.to.as_ref());
        };
        if self.segment.load(Ordering::Relaxed) {
            let to = match self.to {
                Some(to) => to,
                None => self.base.peer_addr().ip(super::NAME).map_err(io::Error::other)?,
            };
            match socket.send_segmented(window, count, to) {
                Err(error) if burst::segmentation_failed(&error) => {
                    tracing::debug!(%error, %to, "no segmentation on this path");
                    self.segment.store(false, Ordering::Relaxed);
                }
                done => return done.map(|()| count),
            }
        }
        socket.send_separate(window, count, self.to.as_ref())
    }

    #[cold]
    fn failed(&self, error: io::Error, len: usize) -> Error {
        match Errno::from_io_error(&error) {
            Some(Errno::MSGSIZE) => self.base.too_large(len).because(error),
            Some(Errno::NOBUFS) => {
                Error::new(ErrorKind::Exhausted, "the kernel has no buffer left to send with").because(error)
            }
            _ => Error::from(error),
        }
        .at(self.base.datapath())
    }
}

impl Connection for UdpConnection {
    type Data = Buf;
    type Base = SocketBase;

    fn base(&self) -> &SocketBase {
        &self.base
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.open()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let socket = self.endpoint.socket();
        let send = || socket.send_one(&message, self.to.as_ref());
        self.when_writable(send).await.map_err(|error| self.failed(error, message.len()))
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self.endpoint.recv(self.slot).await {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(self.base.closed()),
            Err(error) => Err(error.at(self.base.datapath())),
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.open()?;
        let mtu = self.base.mtu();
        let mut oversize = None;
        let mut fitting = messages.map_while(|message| {
            if message.len() > mtu {
                oversize = Some(message.len());
                return None;
            }
            Some(message)
        });
        let mut window = Window::new();
        loop {
            if window.is_empty() {
                window.fill(&mut fitting, usize::MAX);
            }
            let Some(first) = window.iter().next().map(|message| message.len()) else { break };
            let sent = self.when_writable(|| self.send_some(&window)).await;
            window.drop_first(sent.map_err(|error| self.failed(error, first))?);
        }
        drop(fitting);
        match oversize {
            Some(len) => Err(self.base.too_large(len)),
            None => Ok(()),
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        match self.endpoint.recv_batch(self.slot, into, limit).await {
            Ok(0) => Err(self.base.closed()),
            Ok(received) => Ok(received),
            Err(error) => Err(error.at(self.base.datapath())),
        }
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.endpoint.close(self.slot);
        Ok(())
    }
}

impl Drop for UdpConnection {
    fn drop(&mut self) {
        self.endpoint.remove(self.slot);
    }
}

impl fmt::Debug for UdpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UdpConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
