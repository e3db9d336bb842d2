//! The connection that puts messages in order.

use super::sequence::{Full, OrderLimits, Sequence};
use super::statistics::HeldBack;
use crate::redelivery::Redelivery;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, debug_fields, forward};
use futures_util::future::{Either, select};
use parking_lot::Mutex;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hasher};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use tokio::sync::Notify;

/// The size of the header: the number in 47 bits, which a million messages a second use up in four years; a
/// flag; the group in 16 bits.
const HEADER: usize = 8;

/// The bits of the number.
const NUMBER: u64 = (1 << 47) - 1;

/// Maximum number of messages that are handed to the layer below at once, and so the maximum that a failed
/// burst takes back.
const BURST: usize = 64;

/// The flag of a header without a message: no message with this number will arrive.
const VOID: u64 = 1 << 47;

/// The connection of [`Ordered`](super::Ordered) and [`OrderedByKey`](super::OrderedByKey) over a connection
/// that carries bytes.
///
/// A message is numbered when `send` is called, not when the future is ready. The number of a `send` that
/// fails or whose future is dropped is void: the next `send` first tells the peer not to wait for it. If a
/// `send_batch` fails, the numbers of all messages that the layer below had taken are void. Several `recv`s
/// at once each get the next message.
///
/// A message that is [delivered again](bertha_core::Properties::receipts), since the application did not finish with
/// it, arrives late and out of order.
///
/// # Errors
/// The errors of the connection below; and [`Invalid`](ErrorKind::Invalid) from every `recv` once a message
/// is missing and the buffer is full of later messages, which means that the stack below loses messages. Once
/// the connection below has closed, later messages are delivered, in order, before its error is returned.
pub struct OrderedConnection<Inner> {
    inner: Inner,
    key: fn(&[u8]) -> &[u8],
    /// The next number of each group. It is locked, not atomic, since a table of atomics per group would cost
    /// as much.
    next: Mutex<Box<[u64]>>,
    /// Locked for one message or burst at a time, never across an await.
    arrived: Mutex<Arrived>,
    /// The headers of messages that were numbered and not sent, for which the peer must not wait.
    voids: Mutex<Vec<u64>>,
    /// True if there are voids, so that `send` need not lock.
    has_voids: AtomicBool,
    /// Notified when another `recv` left messages to deliver.
    ready: Notify,
}

struct Arrived {
    sequence: Sequence<Buf>,
    /// By number and group.
    redelivery: Redelivery<u64>,
    stuck: Option<Full>,
}

impl<Inner: Connection<Data = Buf>> OrderedConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        name: &'static str,
        limits: OrderLimits,
        groups: u16,
        key: fn(&[u8]) -> &[u8],
        dropped: DropCounter,
    ) -> Self {
        inner.base().reserve(HEADER);
        let next = Mutex::new(vec![0; usize::from(groups)].into());
        let mut sequence = Sequence::new(name, groups, limits);
        sequence.dropped = dropped;
        let redelivery = Redelivery::new(inner.base().properties());
        let arrived = Mutex::new(Arrived { sequence, redelivery, stuck: None });
        Self {
            inner,
            key,
            next,
            arrived,
            voids: Mutex::default(),
            has_voids: AtomicBool::new(false),
            ready: Notify::new(),
        }
    }

    /// Returns the number of messages that were dropped: duplicates, messages that arrived after they were
    /// skipped, and messages without a number.
    pub fn dropped(&self) -> u64 {
        self.arrived.lock().sequence.dropped.get()
    }

    /// Returns the number of messages held back, which the [statistics](bertha_core::statistics) show.
    pub(super) fn held_back(&self) -> Arc<HeldBack> {
        self.arrived.lock().sequence.early().clone()
    }

    /// Gives a message its number, and returns the header with it.
    fn number(&self, message: &[u8]) -> u64 {
        let mut next = self.next.lock();
        let group = match next.len() {
            1 => 0,
            groups => group((self.key)(message), groups),
        };
        let header = (group as u64) << 48 | next[group] & NUMBER;
        next[group] += 1;
        header
    }

    /// Puts the header in front of a message.
    fn framed(&self, mut message: Buf, header: u64) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        message.prepend(HEADER)?.copy_from_slice(&header.to_le_bytes());
        Ok(message)
    }

    async fn send_numbered(&self, message: Buf, mut unsent: Unsent<'_>) -> Result<(), Error> {
        if self.has_voids.load(Acquire) {
            self.send_voids().await?;
        }
        let message = self.framed(message, unsent.header)?;
        unsent.was_tried = true;
        self.inner.send(message).await?;
        // The message was sent, so its number is not void.
        std::mem::forget(unsent);
        Ok(())
    }

    /// Tells the peer the void numbers. If the future is dropped, a number may be sent again later, which
    /// does no harm.
    #[cold]
    async fn send_voids(&self) -> Result<(), Error> {
        loop {
            let next = self.voids.lock().last().copied();
            let Some(header) = next else { break };
            let mut message = self.inner.base().buffer(HEADER)?;
            message.copy_from_slice(&(header | VOID).to_le_bytes());
            self.inner.send(message).await?;
            self.voids.lock().retain(|other| *other != header);
        }
        let voids = self.voids.lock();
        self.has_voids.store(!voids.is_empty(), Release);
        Ok(())
    }

    /// Returns the next message or the error of the connection, if there is either.
    fn pop(&self) -> Option<Result<Buf, Error>> {
        let mut arrived = self.arrived.lock();
        match arrived.sequence.pop() {
            Some(message) => Some(Ok(message)),
            None => arrived.stuck.as_ref().map(|full| Err(stuck(full))),
        }
    }

    /// Handles the failure of the connection below. At its end, early messages are delivered first, since no
    /// message before them will arrive any more.
    fn end(&self, error: Error) -> Result<(), Error> {
        let mut arrived = self.arrived.lock();
        if error.kind() == ErrorKind::Closed {
            arrived.sequence.end();
        }
        if arrived.sequence.has_ready() { Ok(()) } else { Err(error) }
    }

    /// Wakes another `recv` if messages or an error are left.
    fn wake_next(&self) {
        let arrived = self.arrived.lock();
        if arrived.sequence.has_ready() || arrived.stuck.is_some() {
            self.ready.notify_one();
        }
    }
}

impl Arrived {
    fn insert(&mut self, mut message: Buf) {
        let Some(header) = message.first_chunk().map(|header| u64::from_le_bytes(*header)) else {
            self.sequence.dropped.add(1);
            return;
        };
        // The call never fails, since there is a header.
        if message.advance(HEADER).is_err() {
            return;
        }
        let group = (header >> 48) as u16;
        let number = header & NUMBER;
        if self.sequence.has_seen(group, number) {
            let returned = self.redelivery.repeated(header & !VOID, message);
            return self.sequence.repeat(returned);
        }
        let message = if header & VOID == 0 {
            Some(self.redelivery.first(header, message))
        } else {
            message.done();
            None
        };
        if let Err(full) = self.sequence.insert(group, number, message) {
            self.stuck.get_or_insert(full);
        }
    }
}

/// The number of a message that is not sent yet. When it is dropped, the number becomes void or free again.
struct Unsent<'a> {
    header: u64,
    /// True if the layer below was given the message, and may have sent it.
    was_tried: bool,
    next: &'a Mutex<Box<[u64]>>,
    voids: &'a Mutex<Vec<u64>>,
    has_voids: &'a AtomicBool,
}

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        let group = (self.header >> 48) as usize;
        let number = self.header & NUMBER;
        let mut next = self.next.lock();
        if !self.was_tried && next[group] == number + 1 {
            // This is the newest number, which the peer has not seen: the next message gets it. So there are
            // at most as many voids as there were concurrent sends.
            next[group] = number;
            return;
        }
        drop(next);
        self.voids.lock().push(self.header);
        self.has_voids.store(true, Release);
    }
}

/// The numbers of a burst under way. When the value is dropped, they are taken back, since the layer below
/// may have sent some messages or none.
struct UnsentBurst<'a> {
    headers: [u64; BURST],
    len: usize,
    voids: &'a Mutex<Vec<u64>>,
    has_voids: &'a AtomicBool,
}

impl<'a> UnsentBurst<'a> {
    fn new(voids: &'a Mutex<Vec<u64>>, has_voids: &'a AtomicBool) -> Self {
        Self { headers: [0; BURST], len: 0, voids, has_voids }
    }

    fn push(&mut self, header: u64) {
        self.headers[self.len] = header;
        self.len += 1;
    }

    /// Takes back the last number alone: the messages before it were sent.
    fn keep_last(&mut self) {
        self.headers[0] = self.headers[self.len - 1];
        self.len = 1;
    }
}

impl Drop for UnsentBurst<'_> {
    fn drop(&mut self) {
        if self.len > 0 {
            self.voids.lock().extend(&self.headers[..self.len]);
            self.has_voids.store(true, Release);
        }
    }
}

/// Returns the group of a key. Any mapping works if a sender never changes it.
fn group(key: &[u8], groups: usize) -> usize {
    let mut hasher = DefaultHasher::new();
    hasher.write(key);
    (hasher.finish() % groups as u64) as usize
}

#[cold]
fn stuck(full: &Full) -> Error {
    let what = format!(
        "message {} is missing, and the buffer is full of later ones: the stack below loses messages; put Reliable \
         below, or set skip_after",
        full.missing
    );
    Error::new(ErrorKind::Invalid, what).at("Ordered").ending_connection()
}

impl<Inner: Connection<Data = Buf>> Connection for OrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    #[inline]
    fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
        // Messages are numbered in the order of the calls.
        let header = self.number(&message);
        let next = &self.next;
        let voids = &self.voids;
        let has_voids = &self.has_voids;
        self.send_numbered(message, Unsent { header, was_tried: false, next, voids, has_voids })
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        loop {
            if self.has_voids.load(Acquire) {
                self.send_voids().await?;
            }
            let mut failed = None;
            let mut unsent = UnsentBurst::new(&self.voids, &self.has_voids);
            let framed = messages.by_ref().take(BURST).map_while(|message| {
                // A message is numbered when the layer below takes it.
                let header = self.number(&message);
                unsent.push(header);
                self.framed(message, header).map_err(|error| failed = Some(error)).ok()
            });
            self.inner.send_batch(framed.fuse()).await?;
            if let Some(error) = failed {
                unsent.keep_last();
                return Err(error);
            }
            let taken = unsent.len;
            // The messages were sent, so no number is taken back.
            std::mem::forget(unsent);
            if taken < BURST {
                return Ok(());
            }
        }
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(taken) = self.pop() {
                self.wake_next();
                return taken;
            }
            // Another `recv` may take the message from below that this call waits for. Dropping `recv` loses
            // nothing.
            match select(pin!(self.inner.recv()), pin!(self.ready.notified())).await {
                Either::Left((Ok(message), _)) => self.arrived.lock().insert(message),
                Either::Left((Err(error), _)) => self.end(error)?,
                Either::Right(_) => {}
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        let mut count = 0;
        loop {
            // An error waits for the next call if there are messages before it.
            while count < limit
                && let Some(Ok(message)) = self.pop()
            {
                into.extend([message]);
                count += 1;
            }
            if count > 0 {
                self.wake_next();
                return Ok(count);
            }
            if let Some(Err(error)) = self.pop() {
                self.wake_next();
                return Err(error);
            }
            let mut burst = Burst(&self.arrived);
            let received = pin!(self.inner.recv_batch(&mut burst, limit));
            match select(received, pin!(self.ready.notified())).await {
                Either::Left((Ok(_), _)) => {}
                Either::Left((Err(error), _)) => self.end(error)?,
                Either::Right(_) => {}
            }
        }
    }
}

/// Inserts the messages of a burst.
struct Burst<'a>(&'a Mutex<Arrived>);

impl Extend<Buf> for Burst<'_> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, messages: I) {
        // The lock is taken for each message, since the iterator may run code of the layers below.
        messages.into_iter().for_each(|message| self.0.lock().insert(message));
    }
}

debug_fields!(OrderedConnection<Inner: Debug> { inner });
