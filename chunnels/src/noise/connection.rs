//! The connection that encrypts and decrypts.

use super::exchange::{self, Established, REPEAT, TIMEOUT};
use super::handshake::First;
use super::session::Session;
use super::wire::{self, Arrived, CONFIRMATION, HEADER, Header, NUMBERS};
use crate::burst::{Decoded, send_encoded};
use bertha_core::replay_window::ReplayWindow;
use bertha_core::{Base, Buf, Connection, DropCounter, Error, ErrorKind, Runtime, forward};
use parking_lot::Mutex;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// Number of forgeries that ends a connection: RFC 9001, section 6.6, for this cipher.
const MAX_FORGERIES: u64 = 1 << 52;

/// The connection of [`Noise`](super::Noise) over a connection that carries bytes.
///
/// Loss, order, backpressure and cancellation are those of the connection below. `send` encrypts and `recv`
/// decrypts, in place and on the caller's task.
///
/// # Errors
/// The errors of the connection below. After 2^56 messages, or 2^52 forged messages from the other end, calls
/// fail with [`Closed`](ErrorKind::Closed): more messages would weaken the keys.
pub struct NoiseConnection<Inner: Connection> {
    pub(super) link: Arc<Link<Inner>>,
    session: Box<Session>,
    pub(super) next: AtomicU64,
    /// Locked for a few words, never across an await.
    replay: Mutex<ReplayWindow<64>>,
    /// The first message, if it arrived during the handshake.
    first: Mutex<Option<Buf>>,
    has_first: AtomicBool,
    forged: DropCounter,
    repeated: DropCounter,
    /// The task that repeats the initiator's confirmation. It ends with the connection.
    _confirming: Option<<<Inner::Base as Base>::Runtime as Runtime>::Task>,
}

/// The connection below, and the progress that the confirming task watches.
pub(super) struct Link<Inner> {
    pub(super) inner: Inner,
    /// The headroom that layers below need.
    below: usize,
    /// True if an authentic message of the other end has arrived.
    is_heard: AtomicBool,
}

impl<Inner: Connection<Data = Buf>> NoiseConnection<Inner> {
    pub(super) fn new(
        inner: Inner,
        below: usize,
        established: Established,
        [forged, repeated]: [DropCounter; 2],
    ) -> Self {
        let Established { session, confirmation, first } = established;
        inner.base().reserve(HEADER);
        let link = Arc::new(Link { inner, below, is_heard: AtomicBool::new(confirmation.is_none()) });
        let _confirming = confirmation.map(|confirmation| {
            let runtime = link.inner.base().runtime();
            runtime.spawn_at(runtime.now() + REPEAT, link.clone().confirm(confirmation))
        });
        let mut replay = ReplayWindow::default();
        replay.insert(CONFIRMATION);
        let first = first.map(|First { number, message }| {
            replay.insert(number);
            message
        });
        let has_first = AtomicBool::new(first.is_some());
        let next = AtomicU64::new(CONFIRMATION + 1);
        let replay = Mutex::new(replay);
        let first = Mutex::new(first);
        Self { link, session, next, replay, first, has_first, forged, repeated, _confirming }
    }

    /// Returns the number of messages that were dropped as forged or damaged.
    pub fn forged(&self) -> u64 {
        self.forged.get()
    }

    /// Returns the number of messages that were dropped as duplicates, or as late messages that may be
    /// duplicates.
    pub fn repeated(&self) -> u64 {
        self.repeated.get()
    }

    #[inline]
    fn encrypt(&self, mut message: Buf) -> Result<Buf, Error> {
        let number = self.next.fetch_add(1, Relaxed);
        if number >= NUMBERS {
            return Err(used_up());
        }
        if message.headroom() < HEADER {
            // The message has no headroom, since it is not from this connection's base.
            message = Buf::copy_of(&message, HEADER + self.link.below)?;
        }
        let tag = self.session.sending.encrypt(number, &mut message).ok_or_else(too_large)?;
        message.prepend(HEADER)?.copy_from_slice(&Header { number, tag }.encode());
        Ok(message)
    }

    /// Decrypts a message from below; `None` for a message of the handshake, and for a message that is
    /// dropped.
    #[inline]
    pub(super) fn decrypt(&self, mut message: Buf) -> Option<Buf> {
        let header = match wire::decode(&message) {
            Some(Arrived::Transport(header)) => header,
            // The message was repeated on its way, or is late.
            Some(_) => return None,
            None => return self.drop_forged(),
        };
        message.advance(HEADER).ok()?;
        if !self.session.receiving.decrypt(header, &mut message) {
            return self.drop_forged();
        }
        if !self.link.is_heard.load(Relaxed) {
            self.link.is_heard.store(true, Relaxed);
        }
        if !self.replay.lock().insert(header.number) {
            if header.number != CONFIRMATION {
                self.repeated.add(1);
            }
            return None;
        }
        Some(message)
    }

    #[cold]
    fn drop_forged(&self) -> Option<Buf> {
        self.forged.add(1);
        None
    }

    fn check_forgeries(&self) -> Result<(), Error> {
        if self.forged.get() < MAX_FORGERIES { Ok(()) } else { Err(used_up()) }
    }

    /// Returns the first message, if it arrived during the handshake and was not taken yet.
    #[inline]
    fn take_first(&self) -> Option<Buf> {
        if !self.has_first.load(Relaxed) {
            return None;
        }
        self.has_first.store(false, Relaxed);
        self.first.lock().take()
    }
}

impl<Inner: Connection<Data = Buf>> Link<Inner> {
    /// Repeats the initiator's confirmation as long as the responder waits for it. If all confirmations are
    /// lost, the connection is lost too.
    async fn confirm(self: Arc<Self>, confirmation: [u8; HEADER]) {
        let runtime = self.inner.base().runtime();
        let end = runtime.now() + TIMEOUT;
        let mut pause = REPEAT;
        while !self.is_heard.load(Relaxed) && runtime.now() < end {
            // The connection's own calls report errors.
            let _ = exchange::send(&self.inner, self.below, &confirmation).await;
            pause *= 2;
            runtime.sleep_until(runtime.now() + pause).await;
        }
    }
}

#[cold]
fn used_up() -> Error {
    let what = "the keys of this connection are used up; connect again";
    Error::new(ErrorKind::Closed, what).at("Noise")
}

#[cold]
fn too_large() -> Error {
    Error::new(ErrorKind::TooLarge, "the cipher takes no message of this length").at("Noise")
}

impl<Inner: Connection<Data = Buf>> Connection for NoiseConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.link.inner => base, mtu, drain, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.link.inner.send(self.encrypt(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        if let Some(first) = self.take_first() {
            return Ok(first);
        }
        loop {
            let arrived = self.link.inner.recv().await?;
            if let Some(message) = self.decrypt(arrived) {
                return Ok(message);
            }
            self.check_forgeries()?;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        send_encoded(&self.link.inner, messages, |message| self.encrypt(message)).await
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit > 0
            && let Some(first) = self.take_first()
        {
            into.extend([first]);
            return Ok(1);
        }
        let decode = |message| self.decrypt(message);
        let mut decrypted = Decoded { into, decode, count: 0 };
        // A burst of forgeries alone would return zero.
        while decrypted.count == 0 && limit > 0 {
            self.check_forgeries()?;
            self.link.inner.recv_batch(&mut decrypted, limit).await?;
        }
        Ok(decrypted.count)
    }
}

impl<Inner: Connection + fmt::Debug> fmt::Debug for NoiseConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NoiseConnection")
            .field("inner", &self.link.inner)
            .field("forged", &self.forged)
            .field("repeated", &self.repeated)
            .finish_non_exhaustive()
    }
}
