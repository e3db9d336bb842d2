//! A TCP connection.

use super::socket::TcpSocket;
use super::writer::Writer;
use super::{NAME, Tcp};
use crate::SocketBase;
use crate::async_socket::{AsyncSocket, unless_blocked};
use crate::endpoint::{Endpoint, ReceivingSocket};
use crate::window::Window;
use bertha_core::{Addr, Base, Buf, Connection, Error, ErrorKind, Properties};
use bertha_polling::Limits;
use parking_lot::Mutex;
use socket2::SockRef;
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpStream;

/// A base connection over TCP.
///
/// Closing or dropping it ends the stream; the peer then gets [`Closed`](bertha_core::ErrorKind::Closed) after the
/// last message. A stream that breaks is [`Reset`](bertha_core::ErrorKind::Reset).
pub struct TcpConnection {
    endpoint: Arc<Endpoint<TcpSocket>>,
    slot: usize,
    base: SocketBase,
    /// Messages of several senders must not mix on the stream, so one of them writes at a time; held for one call that
    /// does not block, and contended only where several tasks send at once.
    writer: Mutex<Writer>,
    closed: AtomicBool,
    /// Whether the peer's end of the stream was received. Writing would still work until the peer lets go of it.
    ended: AtomicBool,
}

impl TcpConnection {
    pub(super) fn new(stream: TcpStream, peer: SocketAddr, options: &Tcp) -> io::Result<Self> {
        stream.set_nodelay(true)?;
        let local = stream.local_addr()?;
        let base = SocketBase::new(NAME, Properties::STREAM, options.largest, Addr::from(local), peer.into());
        let socket = TcpSocket::new(stream, peer, options);
        // Nothing is received while messages wait, so the limits are never reached.
        let limits = Limits { backlog: 0, queue: usize::MAX, shared: usize::MAX };
        let (endpoint, slot) = Endpoint::connected(Arc::new(socket), peer, limits, options.waiting);
        Ok(Self {
            endpoint,
            slot,
            base,
            writer: Mutex::new(Writer::new(options.is_framed)),
            closed: AtomicBool::new(false),
            ended: AtomicBool::new(false),
        })
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        // Relaxed: the flags stand for themselves; the effect of `close` on the queue is under the lock.
        if self.closed.load(Ordering::Relaxed) {
            return Err(self.base.closed());
        }
        if self.ended.load(Ordering::Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the peer has closed the stream").at(NAME));
        }
        Ok(())
    }

    /// An error of receiving, which may be the end of the stream.
    #[cold]
    fn not_received(&self, error: Error) -> Error {
        if error.kind() == ErrorKind::Closed {
            self.ended.store(true, Ordering::Relaxed);
        }
        error.at(NAME)
    }

    fn stream(&self) -> &TcpStream {
        self.endpoint.socket().socket()
    }

    /// Writes the first messages, and waits until they are on the stream. Returns how many.
    async fn write<'a>(
        &self,
        messages: impl Iterator<Item = &'a Buf> + Clone + Send + Sync,
    ) -> Result<usize, Error> {
        let stream = self.stream();
        let write = || self.writer.lock().write(stream, messages.clone());
        let written = self.when_writable(write).await?;
        // The stream may have taken a part of the last one: the writer keeps the rest, and goes on with any call that drives it.
        let drive = || {
            let mut writer = self.writer.lock();
            if writer.passed(written.mark) { Ok(()) } else { writer.flush(stream) }
        };
        if !self.writer.lock().passed(written.mark) {
            self.when_writable(drive).await?;
        }
        Ok(written.messages)
    }

    /// Runs `operation` until it does not block.
    async fn when_writable<T: Send>(
        &self,
        mut operation: impl FnMut() -> io::Result<T> + Send,
    ) -> Result<T, Error> {
        let done = match unless_blocked(operation()) {
            Some(done) => done,
            None => self.stream().when_writable(operation).await,
        };
        done.map_err(|error| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: io::Error) -> Error {
        Error::from(error).at(NAME)
    }
}

impl Connection for TcpConnection {
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
        self.write(std::iter::once(&message)).await.map(drop)
    }

    async fn recv(&self) -> Result<Buf, Error> {
        match self.endpoint.recv(self.slot).await {
            Ok(Some(message)) => Ok(message),
            Ok(None) => Err(self.base.closed()),
            Err(error) => Err(self.not_received(error)),
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
            if window.is_empty() {
                break;
            }
            let written = self.write(window.iter()).await?;
            window.drop_first(written);
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
            Err(error) => Err(self.not_received(error)),
        }
    }

    /// Writes the rest of a message whose `send` was cancelled.
    async fn drain(&self) -> Result<(), Error> {
        let stream = self.stream();
        let flushed = stream.when_writable(|| self.writer.lock().flush(stream)).await;
        flushed.map_err(|error| self.failed(error))
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.endpoint.close(self.slot);
        let stream = self.stream();
        self.when_writable(|| self.writer.lock().flush(stream)).await?;
        match SockRef::from(stream).shutdown(Shutdown::Write) {
            // The peer was faster.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done.map_err(|error| self.failed(error)),
        }
    }
}

impl fmt::Debug for TcpConnection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TcpConnection").field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
