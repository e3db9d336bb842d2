//! A connection over a stream socket.

use super::receiver::Receiver;
use super::unfinished::{Account, Unfinished};
use super::writer::Writer;
use super::{Settings, StreamSocket, StreamStatistics};
use crate::SocketBase;
use crate::async_socket::unless_blocked;
use crate::endpoint::{Endpoint, ReceivingSocket};
use crate::window::Window;
use bertha_core::{
    Addr, Base, Buf, Connection, Error, ErrorKind, Gather, Gathered, Octets, Properties, Statistics,
};
use bertha_runtime::polling::Limits;
use parking_lot::Mutex;
use socket2::SockRef;
use std::fmt;
use std::io;
use std::marker::PhantomData;
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// A base connection over a stream socket: of messages, or of bytes with [`Chunk`](bertha_core::Chunk) as `Data`.
///
/// Closing or dropping it ends the stream behind everything that was sent; the peer then gets
/// [`Closed`](bertha_core::ErrorKind::Closed) after the last message, or the end of the bytes. The system ends the stream of a process
/// that dies in the same way, and peers that are not Bertha know no other end, so the bare stream can't tell a close from a cut between two
/// messages; over a negotiated connection such a cut is [`Reset`](bertha_core::ErrorKind::Reset), since a peer that closes says so
/// there. A stream that ends within a message, or breaks, is `Reset` in any case. The empty chunk ends this half of a stream of bytes
/// alone (`shutdown(SHUT_WR)`).
pub struct StreamConnection<S: StreamSocket, Data: Octets = Buf> {
    endpoint: Arc<Endpoint<Receiver<S, Data>>>,
    slot: usize,
    base: SocketBase,
    /// Messages of several senders must not mix on the stream, so one of them writes at a time; held for one call that
    /// does not block, and contended only where several tasks send at once.
    writer: Mutex<Writer<Data>>,
    closed: AtomicBool,
    /// The error that has ended the stream. Nothing can be read behind it, and writing might still work until the peer lets go of
    /// the stream.
    end: OnceLock<StreamEnd>,
    /// Of bytes: whether this end has ended its half of the stream.
    has_ended_half: AtomicBool,
}

/// The first error that has ended a stream, for the calls after it.
#[derive(Debug)]
struct StreamEnd {
    kind: ErrorKind,
    what: String,
}

impl StreamEnd {
    fn of(error: &Error) -> Self {
        Self { kind: error.kind(), what: error.context().to_owned() }
    }

    #[cold]
    fn error(&self) -> Error {
        Error::new(self.kind, self.what.clone()).ending_connection()
    }
}

impl<S: StreamSocket, Data: Octets> StreamConnection<S, Data> {
    /// A connection that this end has made.
    pub(crate) fn new(stream: S, peer: Addr, settings: &Settings) -> io::Result<Self> {
        Self::open_with(stream, peer, settings, None)
    }

    /// A connection of a listener, whose connections share the memory for `unfinished` messages.
    pub(super) fn accepted(
        stream: S,
        peer: Addr,
        settings: &Settings,
        unfinished: &Arc<Unfinished>,
    ) -> io::Result<Self> {
        Self::open_with(stream, peer, settings, Some(unfinished.open()))
    }

    fn open_with(stream: S, peer: Addr, settings: &Settings, account: Option<Account>) -> io::Result<Self> {
        stream.prepare(settings.keep_alive)?;
        let local = stream.local_addr()?;
        let limit = Arc::new(AtomicUsize::new(settings.largest));
        let base = SocketBase::new(S::NAME, Properties::STREAM, settings.largest, local, peer);
        let base = base.with_limit(limit.clone()).with_credentials(stream.peer_credentials()?);
        let socket = Arc::new_cyclic(|this| Receiver::new(stream, limit, account, this.clone()));
        // Nothing is received while messages wait, so the limits are never reached.
        let limits = Limits { backlog: 0, queue: usize::MAX, shared: usize::MAX };
        let (endpoint, slot) = Endpoint::connected(socket, (), limits, settings.waiting);
        Ok(Self {
            endpoint,
            slot,
            base,
            writer: Mutex::new(Writer::new()),
            closed: AtomicBool::new(false),
            end: OnceLock::new(),
            has_ended_half: AtomicBool::new(false),
        })
    }

    #[inline]
    fn open(&self) -> Result<(), Error> {
        if let Some(error) = self.own_end() {
            return Err(error);
        }
        match self.end.get() {
            Some(end) => Err(end.error().at(S::NAME)),
            None => Ok(()),
        }
    }

    /// Returns the error of a `send` if this end has ended the stream, or its half of it.
    #[inline]
    fn own_end(&self) -> Option<Error> {
        // Relaxed: the flags stand for themselves; the effect of `close` on the queue is under the lock.
        if self.closed.load(Ordering::Relaxed) {
            return Some(self.base.closed());
        }
        let has_ended = !Data::HAS_BOUNDS && self.has_ended_half.load(Ordering::Relaxed);
        has_ended.then(|| Error::new(ErrorKind::Closed, "this end has ended the stream").at(S::NAME))
    }

    /// An error of the stream, which is its end unless the system lacks memory for the moment. The system tells the reason for an end
    /// once, to whichever call comes first, and the later calls of the end alone: they get the reason as well.
    #[cold]
    fn ended(&self, error: Error) -> Error {
        let error = error.at(S::NAME);
        if error.kind() == ErrorKind::Exhausted {
            return error;
        }
        let first = self.end.get_or_init(|| StreamEnd::of(&error));
        match error.kind() {
            ErrorKind::Closed => first.error().at(S::NAME),
            _ => error.ending_connection(),
        }
    }

    pub(crate) fn stream(&self) -> &S {
        self.endpoint.socket().socket()
    }

    /// Writes the first messages, and waits until they are on the stream. Returns how many.
    async fn write<'a>(
        &self,
        messages: impl Iterator<Item = &'a Buf> + Clone + Send + Sync,
    ) -> Result<usize, Error> {
        let stream = self.stream();
        let write = || self.writer.lock().write(stream, messages.clone());
        let written = self.when_writable(write).await.map_err(|error| self.not_sent(error))?;
        self.pass(written.mark).await?;
        Ok(written.messages)
    }

    /// Waits until all bytes up to a mark are on the stream. It may have taken a part of the last message: the writer keeps the rest, and goes
    /// on with any call that drives it.
    #[inline]
    async fn pass(&self, mark: u64) -> Result<(), Error> {
        let stream = self.stream();
        let drive = || {
            let mut writer = self.writer.lock();
            if writer.passed(mark) { Ok(()) } else { writer.flush(stream) }
        };
        if !self.writer.lock().passed(mark) {
            self.when_writable(drive).await.map_err(|error| self.not_sent(error))?;
        }
        Ok(())
    }

    /// Runs `operation` until it does not block.
    async fn when_writable<T: Send>(
        &self,
        mut operation: impl FnMut() -> io::Result<T> + Send,
    ) -> io::Result<T> {
        match unless_blocked(operation()) {
            Some(done) => done,
            None => self.stream().when_writable(operation).await,
        }
    }

    /// Writes the rest of a message that the stream took in part.
    async fn flush(&self) -> Result<(), Error> {
        let stream = self.stream();
        let flushed = self.when_writable(|| self.writer.lock().flush(stream)).await;
        flushed.map_err(|error| self.failed(error))
    }

    /// Ends this half of the stream, behind everything that was sent.
    #[cold]
    async fn end(&self) -> Result<(), Error> {
        self.has_ended_half.store(true, Ordering::Relaxed);
        self.flush().await?;
        self.shut_down()
    }

    fn shut_down(&self) -> Result<(), Error> {
        match SockRef::from(self.stream()).shutdown(Shutdown::Write) {
            // The peer was faster.
            Err(error) if error.kind() == io::ErrorKind::NotConnected => Ok(()),
            done => done.map_err(|error| self.failed(error)),
        }
    }

    /// An error of a `send`. To the system a stream that this end has ended meanwhile is like one whose peer has gone.
    #[cold]
    fn not_sent(&self, error: io::Error) -> Error {
        let own = if error.kind() == io::ErrorKind::BrokenPipe { self.own_end() } else { None };
        own.unwrap_or_else(|| self.failed(error))
    }

    #[cold]
    fn failed(&self, error: io::Error) -> Error {
        match error.kind() {
            // The peer is gone, and messages to it are lost. What it sent before its end can still be received.
            io::ErrorKind::BrokenPipe => {
                self.ended(io::Error::new(io::ErrorKind::ConnectionReset, error).into())
            }
            _ => self.ended(error.into()),
        }
    }
}

impl<S: StreamSocket, Data: Octets> Connection for StreamConnection<S, Data> {
    type Data = Data;
    type Base = SocketBase;

    fn base(&self) -> &SocketBase {
        &self.base
    }

    async fn send(&self, message: Data) -> Result<(), Error> {
        self.open()?;
        let message: Buf = message.into();
        if !Data::HAS_BOUNDS && message.is_empty() {
            return self.end().await;
        }
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        self.write(std::iter::once(&message)).await.map(drop)
    }

    async fn recv(&self) -> Result<Data, Error> {
        match self.endpoint.recv(self.slot).await {
            Ok(Some(message)) => Ok(message.into()),
            Ok(None) => Err(self.base.closed()),
            Err(error) => Err(self.ended(error)),
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Data> + Send) -> Result<(), Error> {
        self.open()?;
        let mtu = self.base.mtu();
        let mut oversize = None;
        let mut ends = false;
        let mut fitting = messages.map_while(|message| {
            let message: Buf = message.into();
            if message.len() > mtu {
                oversize = Some(message.len());
                return None;
            }
            if !Data::HAS_BOUNDS && message.is_empty() {
                ends = true;
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
            // Behind the end, or a message that does not fit, the iterator would go on.
            if window.is_empty() && !window.was_filled() {
                break;
            }
        }
        drop(fitting);
        match oversize {
            Some(len) => Err(self.base.too_large(len)),
            None if ends => self.end().await,
            None => Ok(()),
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Data> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        match self.endpoint.recv_batch(self.slot, &mut As::new(into), limit).await {
            Ok(0) => Err(self.base.closed()),
            Ok(received) => Ok(received),
            Err(error) => Err(self.ended(error)),
        }
    }

    /// Writes the rest of a message whose `send` was cancelled.
    async fn drain(&self) -> Result<(), Error> {
        let stream = self.stream();
        let flushed = stream.when_writable(|| self.writer.lock().flush(stream)).await;
        flushed.map_err(|error| self.not_sent(error))
    }

    async fn close(&self) -> Result<(), Error> {
        self.closed.store(true, Ordering::Relaxed);
        self.endpoint.close(self.slot);
        self.flush().await?;
        self.shut_down()
    }

    fn observe(&self, into: &mut Statistics) {
        into.add(S::NAME, StreamStatistics::of(self.stream(), self.writer.lock().calls()));
    }
}

impl<S: StreamSocket> Gather for StreamConnection<S> {
    async fn send_gathered(&self, message: Gathered) -> Result<(), Error> {
        self.open()?;
        if message.len() > self.base.mtu() {
            return Err(self.base.too_large(message.len()));
        }
        let (stream, mut message) = (self.stream(), Some(message));
        let write = || self.writer.lock().write_gathered(stream, &mut message);
        let mark = self.when_writable(write).await.map_err(|error| self.not_sent(error))?;
        self.pass(mark).await
    }
}

/// Receives messages as what the connection carries.
struct As<'a, Into, Data> {
    into: &'a mut Into,
    data: PhantomData<fn() -> Data>,
}

impl<'a, Into, Data> As<'a, Into, Data> {
    fn new(into: &'a mut Into) -> Self {
        Self { into, data: PhantomData }
    }
}

impl<Into: Extend<Data>, Data: Octets> Extend<Buf> for As<'_, Into, Data> {
    #[inline]
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, messages: I) {
        self.into.extend(messages.into_iter().map(Data::from));
    }
}

impl<S: StreamSocket, Data: Octets> fmt::Debug for StreamConnection<S, Data> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct(S::NAME).field("peer", &self.base.peer_addr()).finish_non_exhaustive()
    }
}
