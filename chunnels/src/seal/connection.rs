//! The connection that seals and opens.

use super::greeting::{self, Greeted};
use super::keys::Keys;
use super::wire::{self, Arrived, Greeting, HEADER, NUMBERS};
use bertha_core::replay_window::ReplayWindow;
use bertha_core::{Base, Buf, Connection, Error, ErrorKind};
use parking_lot::Mutex;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// How many forgeries end a connection: RFC 9001, section 6.6, for this cipher.
const FORGERIES: u64 = 1 << 36;

/// What [`Seal`](super::Seal) makes of a connection that carries bytes.
///
/// Loss, order, backpressure and what dropping a future means are those of the connection below. Encrypting is done by who
/// sends, decrypting by who receives, each in place.
///
/// # Errors
/// Those of the connection below. After 2^56 messages of this end, or 2^36 forged ones of another, calls fail with
/// [`Closed`](ErrorKind::Closed): more would weaken the keys.
pub struct SealConnection<Inner> {
    pub(super) inner: Inner,
    /// The headroom that layers below need.
    below: usize,
    greeted: Greeted,
    keys: Keys,
    next: AtomicU64,
    /// Whether the other end has shown that it knows our salt. Until then a greeting goes before each message or burst.
    is_known: AtomicBool,
    /// Whether the other end has asked for our salt.
    asks: AtomicBool,
    /// Locked for a look at a few words.
    replay: Mutex<ReplayWindow<64>>,
    forged: AtomicU64,
    repeated: AtomicU64,
}

impl<Inner: Connection<Data = Buf>> SealConnection<Inner> {
    pub(super) fn new(inner: Inner, below: usize, greeted: Greeted, keys: Keys) -> Self {
        inner.base().reserve(HEADER);
        let is_known = AtomicBool::new(greeted.is_known);
        let replay = Mutex::default();
        let (next, asks, forged, repeated) = Default::default();
        Self { inner, below, greeted, keys, next, is_known, asks, replay, forged, repeated }
    }

    /// How many messages were dropped since they were damaged, or not from the peer.
    pub fn forged(&self) -> u64 {
        self.forged.load(Relaxed)
    }

    /// How many messages were dropped since they had come before, or came too late to tell.
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
            // Made elsewhere than by this connection's base.
            message = Buf::copy_of(&message, HEADER + self.below)?;
        }
        let tag = self.keys.seal(number, &mut message)?;
        let header = message.prepend(HEADER)?;
        header[..8].copy_from_slice(&wire::associated(number));
        header[8..].copy_from_slice(&tag);
        Ok(message)
    }

    /// The message in what arrived, if it is one.
    #[inline]
    pub(super) fn open(&self, mut message: Buf) -> Option<Buf> {
        let sealed = match wire::read(&message) {
            Some(Arrived::Sealed(sealed)) => sealed,
            Some(Arrived::Greeting(greeting)) => {
                self.hear(greeting);
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
    fn hear(&self, greeting: Greeting) {
        if greeting.salt != self.greeted.theirs {
            self.forged.fetch_add(1, Relaxed);
        } else if greeting.asks {
            self.asks.store(true, Relaxed);
        }
    }

    /// Does what a burst of greetings or forgeries may have made necessary.
    async fn settle(&self) -> Result<(), Error> {
        if self.forged.load(Relaxed) >= FORGERIES {
            return Err(used_up());
        }
        if self.asks.swap(false, Relaxed) {
            greeting::send(&self.inner, self.below, self.greeting()).await?;
        }
        Ok(())
    }

    fn greeting(&self) -> Greeting {
        Greeting { asks: false, ..self.greeted.ours }
    }

    /// Greets once more as long as the other end may not have heard.
    #[inline]
    async fn greet(&self) -> Result<(), Error> {
        if self.is_known.load(Relaxed) {
            return Ok(());
        }
        greeting::send(&self.inner, self.below, self.greeting()).await
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
        self.greet().await?;
        self.inner.send(self.seal(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let arrived = self.inner.recv().await?;
            if let Some(message) = self.open(arrived) {
                return Ok(message);
            }
            self.settle().await?;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.greet().await?;
        let mut failed = Ok(());
        let sealed = messages.map_while(|message| match self.seal(message) {
            Ok(message) => Some(message),
            Err(error) => {
                failed = Err(error);
                None
            }
        });
        self.inner.send_batch(sealed).await?;
        failed
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let mut opened = Connected { connection: self, into, count: 0 };
        // A burst of nothing but greetings and forgeries is no burst.
        while opened.count == 0 && limit > 0 {
            self.settle().await?;
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

/// Takes what comes from below, and hands on what it opens.
struct Connected<'a, Inner, Into> {
    connection: &'a SealConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<Inner: Connection<Data = Buf>, Into: Extend<Buf>> Extend<Buf> for Connected<'_, Inner, Into> {
    fn extend<I: IntoIterator<Item = Buf>>(&mut self, arrived: I) {
        let Self { connection, into, count } = self;
        into.extend(arrived.into_iter().filter_map(|message| {
            let opened = connection.open(message);
            *count += usize::from(opened.is_some());
            opened
        }));
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
