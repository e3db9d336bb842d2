//! The connection that encrypts and decrypts.

use super::hello::{self, Agreed};
use super::keys::Keys;
use super::wire::{self, Arrived, HEADER, Hello, NUMBERS};
use crate::burst::{Decoded, send_encoded};
use bertha_core::replay_window::ReplayWindow;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// The number of forgeries that ends a connection: RFC 9001, section 6.6, for this cipher.
const MAX_FORGERIES: u64 = 1 << 36;

/// The connection of [`Seal`](super::Seal) over one that carries bytes.
///
/// Loss, order, backpressure and cancellation are those of the connection below. `send` encrypts and `recv` decrypts, each in place
/// and on the caller's task.
///
/// # Errors
/// Those of the connection below. After 2^56 messages, or 2^36 forged ones from the other end, calls fail with
/// [`Closed`](ErrorKind::Closed): more would weaken the keys.
pub struct SealConnection<Inner> {
    pub(super) inner: Inner,
    /// The headroom that layers below need.
    below: usize,
    agreed: Agreed,
    keys: Keys,
    next: AtomicU64,
    /// Whether the other end has shown that it knows the salt of this end. Until then a hello precedes each message or burst.
    is_known: AtomicBool,
    /// Whether the other end has asked for the salt of this end.
    is_asked: AtomicBool,
    /// Locked for a few words, never across an await.
    replay: Mutex<ReplayWindow<64>>,
    forged: AtomicU64,
    repeated: AtomicU64,
}

impl<Inner: Connection<Data = Buf>> SealConnection<Inner> {
    pub(super) fn new(inner: Inner, below: usize, agreed: Agreed, keys: Keys) -> Self {
        inner.base().reserve(HEADER);
        let is_known = AtomicBool::new(agreed.is_known);
        let replay = Mutex::default();
        let (next, is_asked, forged, repeated) = Default::default();
        Self { inner, below, agreed, keys, next, is_known, is_asked, replay, forged, repeated }
    }

    /// The number of messages that were dropped as forged or damaged.
    pub fn forged(&self) -> u64 {
        self.forged.load(Relaxed)
    }

    /// The number of messages that were dropped as duplicates, or as late ones that may be duplicates.
    pub fn repeated(&self) -> u64 {
        self.repeated.load(Relaxed)
    }

    #[inline]
    fn seal(&self, mut message: Buf) -> Result<Buf, Error> {
        let number = self.next.fetch_add(1, Relaxed);
        if number >= NUMBERS {
            return Err(used_up());
        }
        if message.headroom() < HEADER {
            // Not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.below)?;
        }
        let tag = self.keys.seal(number, &mut message)?;
        let header = message.prepend(HEADER)?;
        header[..8].copy_from_slice(&wire::associated(number));
        header[8..].copy_from_slice(&tag);
        Ok(message)
    }

    /// Decrypts a message from below; `None` for a hello, and for a message that is dropped.
    #[inline]
    pub(super) fn open(&self, mut message: Buf) -> Option<Buf> {
        let sealed = match wire::decode(&message) {
            Some(Arrived::Sealed(sealed)) => sealed,
            Some(Arrived::Hello(hello)) => {
                self.on_hello(hello);
                return None;
            }
            None => {
                self.forged.fetch_add(1, Relaxed);
                return None;
            }
        };
        message.advance(HEADER).ok()?;
        if !self.keys.open(sealed, &mut message) {
            self.forged.fetch_add(1, Relaxed);
            return None;
        }
        if !self.is_known.load(Relaxed) {
            self.is_known.store(true, Relaxed);
        }
        if !self.replay.lock().insert(sealed.number) {
            self.repeated.fetch_add(1, Relaxed);
            return None;
        }
        Some(message)
    }

    #[cold]
    fn on_hello(&self, hello: Hello) {
        if hello.salt != self.agreed.theirs {
            self.forged.fetch_add(1, Relaxed);
        } else if hello.asks {
            self.is_asked.store(true, Relaxed);
        }
    }

    /// Fails after too many forgeries, and answers a hello.
    async fn after_drop(&self) -> Result<(), Error> {
        if self.forged.load(Relaxed) >= MAX_FORGERIES {
            return Err(used_up());
        }
        if self.is_asked.swap(false, Relaxed) {
            hello::send(&self.inner, self.below, self.answer()).await?;
        }
        Ok(())
    }

    fn answer(&self) -> Hello {
        Hello { asks: false, ..self.agreed.ours }
    }

    /// Repeats the hello as long as the other end may not have received it.
    #[inline]
    async fn ensure_hello(&self) -> Result<(), Error> {
        if self.is_known.load(Relaxed) {
            return Ok(());
        }
        hello::send(&self.inner, self.below, self.answer()).await
    }
}

#[cold]
fn used_up() -> Error {
    let what = "the keys of this connection are used up; connect again";
    Error::new(ErrorKind::Closed, what).at("Seal")
}

impl<Inner: Connection<Data = Buf>> Connection for SealConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    #[inline]
    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.ensure_hello().await?;
        self.inner.send(self.seal(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let arrived = self.inner.recv().await?;
            if let Some(message) = self.open(arrived) {
                return Ok(message);
            }
            self.after_drop().await?;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.ensure_hello().await?;
        send_encoded(&self.inner, messages, |message| self.seal(message)).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let decode = |message| self.open(message);
        let mut opened = Decoded { into, decode, count: 0 };
        // A burst of hellos and forgeries alone would return zero.
        while opened.count == 0 && limit > 0 {
            self.after_drop().await?;
            self.inner.recv_batch(&mut opened, limit).await?;
        }
        Ok(opened.count)
    }

    #[inline]
    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    #[inline]
    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<Inner: fmt::Debug> fmt::Debug for SealConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SealConnection")
            .field("inner", &self.inner)
            .field("forged", &self.forged)
            .field("repeated", &self.repeated)
            .finish_non_exhaustive()
    }
}
