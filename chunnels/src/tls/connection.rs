//! The connection as the layer above sees it.

use super::lingering;
use super::machine::{End, GROUP, Machine};
#[cfg(feature = "rpc")]
use super::parts::{self, Parts, Plain};
use super::pieces::Pieces;
use super::statistics::Handshaken;
use crate::arrived::Arrived;
use crate::certificates::refusal;
use bertha_core::{BoxFuture, Buf, Connection, Error, ErrorKind, Octets};
use futures_util::poll;
use futures_util::task::AtomicWaker;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::Poll;
use tokio::sync::Mutex as AsyncMutex;

/// Maximum number of pieces that are received from below in one call.
const BURST: usize = 16;

/// Number of bytes of messages that become records together; the last message may exceed it. The records are
/// then still in the processor's cache when they are sent.
const GROUP_BYTES: usize = 128 << 10;

/// Number of messages that wait for a receiver before decryption pauses. The messages of one more piece of a
/// record, 16 KiB, may be added.
const WAITING: usize = 64;

/// The connection of [`Tls`](super::Tls) over a connection that is reliable and ordered.
///
/// Losses and backpressure are those of the connection below. `send` is ready once the connection below has
/// taken the records. If its future is dropped before, the message may be sent with the next `send`, `drain`
/// or `close`, as over TCP. Dropping the future of `recv` loses nothing. `close` sends the close_notify by
/// which the other end knows that it has all messages; dropping the connection does not, so the other end
/// then receives a [`Reset`](ErrorKind::Reset). Without negotiation `close` over a stream also waits for the peer's end, at
/// most five seconds: a system that closes a stream while the peer still sends takes from the peer what it has not read yet.
///
/// # Errors
/// `send` fails with [`TooLarge`](ErrorKind::TooLarge) beyond the [largest](super::Tls::largest) message. All calls fail with
/// [`Closed`](ErrorKind::Closed) once this end has closed, or the other end has announced its end (RFC 8446,
/// section 6.1), except that without negotiation over a stream this end goes on sending then, since the peer may read on; with
/// [`Reset`](ErrorKind::Reset) if the stream ends without that announcement, or within a message; with
/// [`Unauthenticated`](ErrorKind::Unauthenticated) if bytes were altered on their way, or the other end has refused this end
/// after the handshake; and otherwise as the connection below does.
pub struct TlsConnection<Inner> {
    pub(super) inner: Arc<Inner>,
    /// The side of this end, and its handshake.
    handshaken: Arc<Handshaken>,
    pub(super) pieces: Pieces,
    /// Locked for a group of messages or a piece of records, never across an await.
    pub(super) machine: Mutex<Machine>,
    /// Number of bytes of the largest message.
    largest: usize,
    /// Locked until the connection below has taken the records, so that they keep their order.
    outgoing: AsyncMutex<Outgoing>,
    /// Locked across the wait for a message, so that each message goes to one `recv`.
    incoming: AsyncMutex<Incoming>,
    /// True if a close waits for the peer's end; see [`lingering`].
    lingers: bool,
    /// True if this end has closed.
    is_closed: AtomicBool,
    /// The task that waits for bytes from below, for a close.
    receiver: AtomicWaker,
    /// True if the other end has closed, and has announced it.
    is_closed_there: AtomicBool,
}

#[derive(Default)]
struct Outgoing {
    /// The call of the connection below. It outlives the future that began it, since a lost record ends the
    /// stream. It is boxed for this reason: once for a group of messages.
    under_way: Option<BoxFuture<'static, Result<(), Error>>>,
    /// The error that has ended the sending.
    failed: Option<(ErrorKind, String)>,
    /// The memory for messages that come in parts.
    #[cfg(feature = "rpc")]
    plain: Plain,
}

#[derive(Default)]
struct Incoming {
    /// Bytes that arrived.
    pieces: VecDeque<Buf>,
    /// Messages that are decrypted.
    messages: VecDeque<Buf>,
    /// The end of the stream, behind these messages.
    end: Option<(ErrorKind, String)>,
}

impl<Inner: Connection<Data: Octets>> TlsConnection<Inner> {
    /// Makes a connection after its handshake. `arrived` are the bytes behind the handshake. If it `lingers`, a close waits for
    /// the peer's end.
    pub(super) fn new(
        handshaken: Arc<Handshaken>,
        inner: Inner,
        pieces: Pieces,
        machine: Machine,
        arrived: VecDeque<Buf>,
        lingers: bool,
    ) -> Self {
        let incoming = Incoming { pieces: arrived, ..Incoming::default() };
        Self {
            inner: Arc::new(inner),
            handshaken,
            pieces,
            largest: machine.largest,
            machine: Mutex::new(machine),
            outgoing: AsyncMutex::default(),
            incoming: AsyncMutex::new(incoming),
            lingers,
            is_closed: AtomicBool::new(false),
            receiver: AtomicWaker::new(),
            is_closed_there: AtomicBool::new(false),
        }
    }

    fn open(&self) -> Result<(), Error> {
        // Relaxed: no other data depends on the flags.
        if self.is_closed.load(Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "this end closed the connection").at("Tls"));
        }
        if self.is_closed_there.load(Relaxed) {
            return Err(Error::new(ErrorKind::Closed, "the other end closed the connection").at("Tls"));
        }
        Ok(())
    }

    /// Returns an error if this end sends no more. A peer that is no end of a negotiated connection may announce its end, and
    /// read on (RFC 8446, section 6.1).
    fn may_send(&self) -> Result<(), Error> {
        if self.lingers && !self.is_closed.load(Relaxed) {
            return Ok(());
        }
        self.open()
    }

    /// Returns an error of the connection below. Its end is no proof that the other end has closed.
    #[cold]
    fn failed(&self, error: Error) -> Error {
        if error.kind() != ErrorKind::Closed {
            return error;
        }
        self.open().err().unwrap_or_else(|| {
            let what = "the stream ended without a close_notify, so the end of it may be missing";
            Error::new(ErrorKind::Reset, what).at("Tls").because(error)
        })
    }

    /// Encrypts the first messages, and waits until the connection below has taken the records.
    async fn send_group(&self, outgoing: &mut Outgoing, messages: &[Buf]) -> Result<(), Error> {
        self.finish(outgoing).await?;
        self.may_send()?;
        let records = {
            let mut machine = self.machine.lock();
            let encrypted = machine.encrypt(messages).map_err(Error::from);
            encrypted.and_then(|()| self.records(&mut machine))
        };
        match records {
            Ok(records) => outgoing.begin(&self.inner, records),
            Err(error) => return Err(outgoing.fail(error)),
        }
        self.finish(outgoing).await
    }

    /// Sends messages that are encrypted from their parts. Errors and cancellation are those of [`send_batch`](Connection::send_batch).
    #[cfg(feature = "rpc")]
    pub(crate) async fn send_parts<M: Parts>(
        &self,
        messages: impl Iterator<Item = M> + Send,
    ) -> Result<(), Error> {
        self.may_send()?;
        let mut messages = messages;
        let mut outgoing = self.outgoing.lock().await;
        loop {
            self.finish(&mut outgoing).await?;
            self.may_send()?;
            // Foreign code runs outside of the lock.
            let group = outgoing.plain.gather(&mut messages, self.largest);
            let records = {
                let mut machine = self.machine.lock();
                let encrypted = outgoing.plain.encrypt(&group, &mut machine).map_err(Error::from);
                encrypted.and_then(|()| self.records(&mut machine))
            };
            match records {
                Ok(records) => outgoing.begin(&self.inner, records),
                Err(error) => return Err(outgoing.fail(error)),
            }
            let end = group.end;
            self.finish(&mut outgoing).await?;
            match end {
                parts::End::Full => {}
                parts::End::Last => return Ok(()),
                parts::End::TooLarge(len) => return Err(too_large(len, self.largest)),
            }
        }
    }

    fn records(&self, machine: &mut Machine) -> Result<Vec<Buf>, Error> {
        let mut records = Vec::new();
        self.pieces.fill(machine, &*self.inner, &mut records)?;
        Ok(records)
    }

    /// Waits for the call of the connection below, if one is under way.
    async fn finish(&self, outgoing: &mut Outgoing) -> Result<(), Error> {
        if let Some(call) = &mut outgoing.under_way {
            let done = call.await;
            outgoing.under_way = None;
            if let Err(error) = done {
                return Err(outgoing.fail(self.failed(error)));
            }
        }
        match &outgoing.failed {
            None => Ok(()),
            Some((kind, what)) => Err(Error::new(*kind, what.clone()).at("Tls").ending_connection()),
        }
    }

    /// Waits until there is a message.
    async fn fill(&self, incoming: &mut Incoming) -> Result<(), Error> {
        loop {
            if self.is_closed.load(Relaxed) {
                return self.open();
            }
            if !incoming.messages.is_empty() {
                return Ok(());
            }
            if let Some((kind, what)) = &incoming.end {
                return Err(Error::new(*kind, what.clone()).at("Tls").ending_connection());
            }
            if incoming.pieces.is_empty() {
                let mut arrived = Arrived::<Inner::Data>::new(&mut incoming.pieces);
                let received = self.unless_closed(self.inner.recv_batch(&mut arrived, BURST)).await;
                let Some(received) = received else { continue };
                let has_ended = arrived.has_ended && incoming.pieces.is_empty();
                match received {
                    Ok(_) if has_ended => {
                        let error = self.failed(Error::new(ErrorKind::Closed, "the stream below ended"));
                        incoming.end = Some((error.kind(), error.context().to_owned()));
                        return Err(error);
                    }
                    Ok(_) => {}
                    Err(error) if !error.ends_connection() => return Err(error),
                    Err(error) => {
                        let error = self.failed(error);
                        incoming.end = Some((error.kind(), error.context().to_owned()));
                        return Err(error);
                    }
                }
            }
            if let Some(error) = self.decrypt(incoming)? {
                incoming.end = Some((error.kind(), error.context().to_owned()));
                // An alert tells the other end the reason, if it can be sent now.
                if let Ok(mut outgoing) = self.outgoing.try_lock()
                    && outgoing.under_way.is_none()
                {
                    let records = self.records(&mut self.machine.lock())?;
                    outgoing.begin(&self.inner, records);
                    let _ = poll!(std::pin::pin!(self.finish(&mut outgoing)));
                }
            }
        }
    }

    /// Waits for a reception from below; `None` once this end has closed. The caller has the lock for receptions.
    async fn unless_closed<T>(&self, receiving: impl Future<Output = T>) -> Option<T> {
        let mut receiving = pin!(receiving);
        poll_fn(|cx| {
            if let Poll::Ready(received) = receiving.as_mut().poll(cx) {
                return Poll::Ready(Some(received));
            }
            self.receiver.register(cx.waker());
            if self.is_closed.load(Relaxed) { Poll::Ready(None) } else { Poll::Pending }
        })
        .await
    }

    /// Drops what the peer still sends, until its end.
    async fn linger(&self) {
        let (pieces, has_ended) = match self.incoming.try_lock() {
            Ok(mut incoming) => (std::mem::take(&mut incoming.pieces), incoming.end.is_some()),
            // Another call holds the lock until it is polled, and has some of the bytes before the peer's end of TLS. The end
            // of the stream below shows as well.
            Err(_) => {
                return lingering::linger(&*self.inner, VecDeque::new(), |_| false).await;
            }
        };
        if !has_ended {
            let is_end = |pieces: &VecDeque<Buf>| lingering::has_end(&mut self.machine.lock(), pieces);
            lingering::linger(&*self.inner, pieces, is_end).await;
        }
    }

    /// Decrypts pieces until enough messages wait. Returns the reason of the stream's end.
    fn decrypt(&self, incoming: &mut Incoming) -> Result<Option<Error>, Error> {
        let Incoming { pieces, messages, .. } = incoming;
        let mut machine = self.machine.lock();
        while let Some(piece) = pieces.front_mut()
            && messages.len() < WAITING
        {
            let mut bytes = &piece[..];
            let end = machine.receive(&mut bytes, |message| messages.push_back(message));
            let taken = piece.len() - bytes.len();
            piece.advance(taken)?;
            if piece.is_empty() {
                pieces.pop_front();
            }
            if let Some(end) = end {
                return Ok(Some(self.ended(end)));
            }
        }
        Ok(None)
    }

    #[cold]
    fn ended(&self, end: End) -> Error {
        match end {
            End::Closed => {
                self.is_closed_there.store(true, Relaxed);
                Error::new(ErrorKind::Closed, "the other end closed the connection")
            }
            End::WithinMessage => {
                Error::new(ErrorKind::Reset, "the other end closed the connection in the middle of a message")
            }
            End::Malformed(too_large) => Error::new(ErrorKind::Reset, too_large.told(self.largest)),
            End::Failed(error) => refusal::explain(error, &self.handshaken.side, None),
        }
        .at("Tls")
    }
}

impl Outgoing {
    /// Ends the sending: after any error a part of the stream is missing.
    #[cold]
    fn fail(&mut self, error: Error) -> Error {
        self.failed = Some((error.kind(), error.context().to_owned()));
        error.ending_connection()
    }

    /// Begins to send these records. They are sent once the call is [finished](TlsConnection::finish).
    fn begin<Inner: Connection<Data: Octets>>(&mut self, inner: &Arc<Inner>, mut records: Vec<Buf>) {
        let inner = inner.clone();
        self.under_way = Some(match (records.pop(), records.is_empty()) {
            (None, _) => return,
            (Some(record), true) => Box::pin(async move { inner.send(record.into()).await }),
            (Some(last), false) => {
                records.push(last);
                Box::pin(async move { inner.send_batch(records.into_iter().map(Into::into)).await })
            }
        });
    }
}

#[cold]
fn too_large(len: usize, largest: usize) -> Error {
    let what = format!("message of {len} bytes, at most {largest} fit; put Fragment above to split messages");
    Error::new(ErrorKind::TooLarge, what).at("Tls")
}

impl<Inner: Connection<Data: Octets>> Connection for TlsConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    /// Returns the number of bytes of the [largest](super::Tls::largest) message, and the headroom of the layers below.
    fn mtu(&self) -> usize {
        self.largest + self.pieces.below()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.may_send()?;
        if message.len() > self.largest {
            return Err(too_large(message.len(), self.largest));
        }
        let mut outgoing = self.outgoing.lock().await;
        self.send_group(&mut outgoing, &[message]).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut incoming = self.incoming.lock().await;
        loop {
            self.fill(&mut incoming).await?;
            if let Some(message) = incoming.messages.pop_front() {
                return Ok(message);
            }
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.may_send()?;
        let mut outgoing = self.outgoing.lock().await;
        let mut oversize = None;
        let mut fitting = messages.map_while(|message| {
            if message.len() > self.largest {
                oversize = Some(message.len());
                return None;
            }
            Some(message)
        });
        let mut group = Vec::with_capacity(GROUP);
        loop {
            let mut bytes = 0;
            while group.len() < GROUP
                && bytes < GROUP_BYTES
                && let Some(message) = fitting.next()
            {
                bytes += message.len();
                group.push(message);
            }
            if group.is_empty() {
                break;
            }
            self.send_group(&mut outgoing, &group).await?;
            group.clear();
        }
        drop(fitting);
        oversize.map_or(Ok(()), |len| Err(too_large(len, self.largest)))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut incoming = self.incoming.lock().await;
        self.fill(&mut incoming).await?;
        let count = incoming.messages.len().min(limit);
        into.extend(incoming.messages.drain(..count));
        Ok(count)
    }

    async fn drain(&self) -> Result<(), Error> {
        let mut outgoing = self.outgoing.lock().await;
        self.finish(&mut outgoing).await?;
        self.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        let was_closed = self.is_closed.swap(true, Relaxed);
        self.receiver.wake();
        let mut outgoing = self.outgoing.lock().await;
        let mut sent = self.finish(&mut outgoing).await;
        if sent.is_ok() && !was_closed {
            let records = {
                let mut machine = self.machine.lock();
                machine.close();
                self.records(&mut machine)?
            };
            outgoing.begin(&self.inner, records);
            sent = self.finish(&mut outgoing).await;
            if self.lingers && sent.is_ok() {
                self.linger().await;
            }
        }
        let closed = self.inner.close().await;
        // The other end may have been faster.
        match sent {
            Err(error) if error.kind() != ErrorKind::Closed => Err(error),
            _ => closed,
        }
    }
}

impl<Inner> fmt::Debug for TlsConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TlsConnection").field("side", &self.handshaken.side).finish_non_exhaustive()
    }
}
