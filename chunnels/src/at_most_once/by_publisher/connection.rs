//! The connection that drops duplicates.

use super::windows::Windows;
use super::{Memory, MessageId};
use crate::burst::send_encoded;
use crate::redelivery::Redelivery;
use bertha_core::statistics::Observed;
use bertha_core::{Base, BoxFuture, Buf, Connection, DropCounter, Error, Runtime, debug_fields, forward};
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The publisher and the number, in front of each message.
const HEADER: usize = 16;

/// Maximum number of messages that the memory is asked about at once.
const BURST: usize = 64;

/// The connection of [`AtMostOnceByPublisher`](super::AtMostOnceByPublisher) over a connection that carries
/// bytes.
///
/// Errors are those of the connection below and of the [memory](Memory); loss, backpressure and cancellation
/// are those of the connection below. Several `recv`s at once take turns. Messages that were received and not
/// handed out when the connection is dropped are released.
pub struct ByPublisherConnection<Inner> {
    inner: Inner,
    publisher: u64,
    next: AtomicU64,
    windows: Arc<Mutex<Windows>>,
    redelivery: Redelivery<MessageId>,
    memory: Option<Arc<dyn Memory>>,
    /// Held by the `recv` whose turn it is, also while it waits.
    receiving: tokio::sync::Mutex<Receiving>,
    duplicates: DropCounter,
    /// Tells about the memory as long as the connection lives.
    _observed: Arc<dyn Observed>,
}

#[derive(Default)]
struct Receiving {
    /// Messages that the memory was not asked about yet.
    arrived: VecDeque<Numbered>,
    /// The pending answer about the first messages of `arrived`.
    taking: Option<BoxFuture<'static, Result<Vec<bool>, Error>>>,
    ready: VecDeque<Numbered>,
}

/// A message without its header.
struct Numbered {
    id: MessageId,
    message: Buf,
}

impl<Inner: Connection<Data = Buf>> ByPublisherConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        windows: Arc<Mutex<Windows>>,
        redelivery: Redelivery<MessageId>,
        memory: Option<Arc<dyn Memory>>,
        duplicates: DropCounter,
        observed: Arc<dyn Observed>,
    ) -> Self {
        inner.base().reserve(HEADER);
        let publisher = inner.base().runtime().random();
        let (next, receiving) = Default::default();
        Self {
            inner,
            publisher,
            next,
            windows,
            redelivery,
            memory,
            receiving,
            duplicates,
            _observed: observed,
        }
    }

    /// Returns the number of messages that were dropped: duplicates, late messages that may be duplicates,
    /// and messages without a number.
    pub fn duplicates(&self) -> u64 {
        self.duplicates.get()
    }

    fn number(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        let number = self.next.fetch_add(1, Relaxed);
        let header = message.prepend(HEADER)?;
        header[..8].copy_from_slice(&self.publisher.to_le_bytes());
        header[8..].copy_from_slice(&number.to_le_bytes());
        Ok(message)
    }

    /// Reads the number of a message that has arrived; returns `None` if it has no number.
    fn numbered(&self, mut message: Buf) -> Option<Numbered> {
        let header = message.first_chunk::<HEADER>().map(|header| u128::from_le_bytes(*header));
        match header {
            Some(header) if message.advance(HEADER).is_ok() => {
                let id = MessageId { publisher: header as u64, number: (header >> 64) as u64 };
                Some(Numbered { id, message })
            }
            _ => {
                self.duplicates.add(1);
                None
            }
        }
    }

    /// Returns the next message that is ready and new.
    fn pop(&self, receiving: &mut Receiving) -> Option<Buf> {
        let ready = if self.memory.is_some() { &mut receiving.ready } else { &mut receiving.arrived };
        while let Some(Numbered { id, message }) = ready.pop_front() {
            // The number is inserted only now, so that a message that a connection did not hand out is no
            // duplicate for the next connection.
            let is_first = self.windows.lock().insert(id);
            if is_first {
                return Some(self.redelivery.first(id, message));
            }
            if let Some(message) = self.redelivery.repeated(id, message) {
                return Some(message);
            }
            self.duplicates.add(1);
        }
        None
    }

    /// Asks the memory about messages that have arrived.
    async fn ask(&self, receiving: &mut Receiving, memory: &Arc<dyn Memory>) -> Result<(), Error> {
        let Receiving { arrived, taking, ready } = receiving;
        let ids = || arrived.iter().take(BURST).map(|message| message.id).collect();
        let answering = taking.get_or_insert_with(|| memory.clone().take(ids()));
        // The future stays when this call is dropped, so its answer is not lost.
        let answer = answering.await;
        *taking = None;
        for (is_first, message) in answer?.into_iter().zip(arrived.drain(..BURST.min(arrived.len()))) {
            match is_first {
                true => ready.push_back(message),
                false => self.duplicates.add(1),
            }
        }
        Ok(())
    }

    /// Waits until a message may be ready. At most `limit` messages are received at once.
    async fn more(&self, receiving: &mut Receiving, limit: usize) -> Result<(), Error> {
        match &self.memory {
            Some(memory) if !receiving.arrived.is_empty() => self.ask(receiving, memory).await,
            _ => {
                let mut arrivals = Arrivals { connection: self, into: &mut receiving.arrived };
                self.inner.recv_batch(&mut arrivals, limit.min(BURST)).await.map(drop)
            }
        }
    }
}

/// Takes the headers off a burst.
struct Arrivals<'a, Inner> {
    connection: &'a ByPublisherConnection<Inner>,
    into: &'a mut VecDeque<Numbered>,
}

impl<Inner: Connection<Data = Buf>> Extend<Buf> for Arrivals<'_, Inner> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, messages: I) {
        let Self { connection, into } = self;
        into.extend(messages.into_iter().filter_map(|message| connection.numbered(message)));
    }
}

impl<Inner: Connection<Data = Buf>> Connection for ByPublisherConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.number(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let mut receiving = self.receiving.lock().await;
        loop {
            if let Some(message) = self.pop(&mut receiving) {
                return Ok(message);
            }
            self.more(&mut receiving, 1).await?;
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| self.number(message))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut receiving = self.receiving.lock().await;
        loop {
            let mut count = 0;
            while count < limit
                && let Some(message) = self.pop(&mut receiving)
            {
                into.extend([message]);
                count += 1;
            }
            if count > 0 {
                return Ok(count);
            }
            self.more(&mut receiving, limit).await?;
        }
    }
}

debug_fields!(ByPublisherConnection<Inner: Debug> { inner, duplicates });
