//! The connection that drops duplicates.

use crate::burst::{Decoded, send_encoded};
use crate::redelivery::Redelivery;
use bertha_core::replay_window::ReplayWindow;
use bertha_core::statistics::Observed;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, debug_fields, forward};
use parking_lot::Mutex;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The number in front of each message.
const HEADER: usize = 8;

/// A number this far beyond the newest is damaged, most likely, and must not move the window.
const MAX_LEAP: u64 = 1 << 24;

/// The connection of [`AtMostOnce`](super::AtMostOnce) over a connection that carries bytes.
///
/// Errors, loss, backpressure and cancellation are those of the connection below.
pub struct AtMostOnceConnection<Inner> {
    inner: Inner,
    next: AtomicU64,
    /// Locked for a look at a few words.
    window: Mutex<ReplayWindow<64>>,
    redelivery: Redelivery<u64>,
    duplicates: DropCounter,
    /// Tells about the messages with receipts as long as the connection lives.
    _observed: Option<Arc<dyn Observed>>,
}

impl<Inner: Connection<Data = Buf>> AtMostOnceConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        redelivery: Redelivery<u64>,
        duplicates: DropCounter,
        observed: Option<Arc<dyn Observed>>,
    ) -> Self {
        inner.base().reserve(HEADER);
        let next = Default::default();
        Self { inner, next, window: Mutex::default(), redelivery, duplicates, _observed: observed }
    }

    /// Returns the number of messages that were dropped: duplicates, late messages that may be duplicates,
    /// and messages without a number.
    pub fn duplicates(&self) -> u64 {
        self.duplicates.get()
    }

    #[inline]
    fn number(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        let number = self.next.fetch_add(1, Relaxed);
        message.prepend(HEADER)?.copy_from_slice(&number.to_le_bytes());
        Ok(message)
    }

    /// Returns the message without its number, if it has not arrived before.
    #[inline]
    fn unless_repeated(&self, mut message: Buf) -> Option<Buf> {
        let number = message.first_chunk().map(|number| u64::from_le_bytes(*number));
        let arrived = number.filter(|_| message.advance(HEADER).is_ok()).and_then(|number| {
            let mut window = self.window.lock();
            let is_plausible = number < window.next().saturating_add(MAX_LEAP);
            is_plausible.then(|| (number, window.insert(number)))
        });
        let message = match arrived {
            Some((number, true)) => return Some(self.redelivery.first(number, message)),
            Some((number, false)) => self.redelivery.repeated(number, message),
            None => None,
        };
        self.duplicates.add(u64::from(message.is_none()));
        message
    }
}

impl<Inner: Connection<Data = Buf>> Connection for AtMostOnceConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, drain, close);

    #[inline]
    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.number(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.unless_repeated(self.inner.recv().await?) {
                return Ok(message);
            }
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| self.number(message))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let decode = |message| self.unless_repeated(message);
        let mut firsts = Decoded { into, decode, count: 0 };
        // A burst of duplicates alone would return zero.
        while firsts.count == 0 && limit > 0 {
            self.inner.recv_batch(&mut firsts, limit).await?;
        }
        Ok(firsts.count)
    }
}

debug_fields!(AtMostOnceConnection<Inner: Debug> { inner, duplicates });
