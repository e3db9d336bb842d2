//! The link: a base connection on which two ends agreed, and on which the stack stands.
//!
//! It puts four bytes in front of each message and takes them off again (see [`wire`](crate::wire)). Whatever is not
//! data goes to `control`, off the message path.

mod control;
mod filter;
mod liveness;
mod opening;
mod parking;
mod place;
mod replacement;
mod setup;
mod watchdog;

use crate::proto::{Credit, FAREWELL};
use crate::wire::{HEADER, Kind, TEXT_LIMIT, Tag};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Error, Role};
use filter::Filter;
use liveness::{End, Liveness};
use opening::Opening;
use parking::Parked;
use setup::Setup;
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use tokio::sync::mpsc::Sender;

pub(crate) use opening::{Opened, gone};
pub(crate) use place::{Place, Places};
pub(crate) use replacement::{FromLink, Seat};

/// What a stack stands on after negotiation.
///
/// Chunnel authors meet it as their `Inner` at the bottom of a negotiated stack; it is never named in code.
pub struct Link<C: Connection<Data = Buf>> {
    shared: Arc<Shared<C>>,
    /// Ends the watchdog with the link.
    _watchdog: <<C::Base as Base>::Runtime as bertha_core::Runtime>::Task,
}

pub(crate) struct Shared<C> {
    /// Shared with the link that replaces this one when the peer restarts.
    base: Arc<C>,
    id: u64,
    role: Role,
    /// The first four bytes of a data message, as the number that they are compared as.
    data: u32,
    liveness: Liveness,
    /// Data that overtook the answer, and whether there is any left.
    early: Mutex<VecDeque<Buf>>,
    has_early: AtomicBool,
    /// How both ends agreed on it, and what proves that a message about it is the peer's.
    session: OnceLock<Arc<Session>>,
    agreed: OnceLock<Agreed>,
    /// What there is until the server has answered, if the link was there before.
    opening: Option<Opening>,
    /// On a server, what happens if the client turns out to have restarted.
    replacement: Option<replacement::Replacement<C>>,
    /// Counts a server's link whose client has not shown that its address is its own.
    _unproven: Option<Place>,
    /// The longest reason that its end may be given, in bytes.
    longest_reason: usize,
    /// Whether the stack is still being built, so that dropping the link is not yet its end.
    in_setup: AtomicBool,
    dropped: Arc<AtomicU64>,
    settings: Settings,
}

/// What is said of a failure at least, in bytes.
const SHORTEST_REASON: usize = 16;

/// What is repeated if the peer repeats itself.
pub(crate) enum Agreed {
    /// The server's answer to the offer with this hash.
    Server {
        /// The offer's hash.
        offer: [u8; 32],
        /// The encoded answer.
        answer: Vec<u8>,
    },
    /// The client's confirmation, if the answer asked for it.
    Client {
        /// The encoded answer; kept only if it has a proof, and is recognised by its bytes.
        answer: Vec<u8>,
        /// What it asked for.
        confirm: Option<u64>,
        /// How many of the first messages it took.
        early: u16,
    },
}

/// What a link starts with.
pub(crate) struct Start<C> {
    pub(crate) base: Arc<C>,
    pub(crate) id: u64,
    pub(crate) role: Role,
    pub(crate) early: VecDeque<Buf>,
    pub(crate) session: Arc<Session>,
    pub(crate) agreed: Agreed,
    pub(crate) listener: Option<Sender<FromLink<C>>>,
    /// There for a client that has not shown that its address is its own, with what may still be sent to it.
    pub(crate) unproven: Option<(Place, Credit)>,
    pub(crate) settings: Settings,
}

impl<C: Connection<Data = Buf>> Link<C> {
    pub(crate) fn new(start: Start<C>) -> Self {
        let Start { base, id, role, early, session, agreed, listener, unproven, settings } = start;
        let (unproven, credit) = unproven.unzip();
        let mut shared = Shared::new(base, id, role, settings);
        shared.longest_reason = credit.map_or(TEXT_LIMIT, |credit| {
            TEXT_LIMIT.min(credit.left().saturating_sub(FAREWELL)).max(SHORTEST_REASON)
        });
        shared.has_early = AtomicBool::new(!early.is_empty());
        shared.early = Mutex::new(early);
        shared.session = session.into();
        shared.agreed = agreed.into();
        shared.replacement = listener.map(replacement::Replacement::new);
        shared._unproven = unproven;
        Self::of(shared)
    }

    fn of(shared: Shared<C>) -> Self {
        // A link that replaces another stands on a base whose headroom is reserved already.
        let base = shared.base.base();
        if base.reserved() < HEADER {
            base.reserve(HEADER);
        }
        let shared = Arc::new(shared);
        let watchdog = watchdog::start(&shared);
        Self { shared, _watchdog: watchdog }
    }

    /// A running count of messages that were dropped: damaged, late, or of no connection.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        self.shared.dropped.clone()
    }

    /// Tells the server that this client is there, if the server asked.
    pub(crate) async fn confirm(&self) {
        if let Some(&Agreed::Client { confirm: Some(number), .. }) = self.shared.agreed.get() {
            self.shared.send_confirm(number).await;
        }
    }

    /// Marks the link as handed to Chunnels that may yet fail; see [`Setup`].
    pub(crate) fn setup(&self) -> Setup<C> {
        self.shared.in_setup.store(true, Ordering::Relaxed);
        Setup(self.shared.clone())
    }
}

impl<C> Shared<C> {
    /// Nothing is agreed, and no message is there.
    fn new(base: Arc<C>, id: u64, role: Role, settings: Settings) -> Self {
        Self {
            base,
            id,
            role,
            data: u32::from_le_bytes(Tag::of(id).header(Kind::Data)),
            liveness: Liveness::default(),
            early: Mutex::default(),
            has_early: AtomicBool::default(),
            session: OnceLock::new(),
            agreed: OnceLock::new(),
            opening: None,
            replacement: None,
            _unproven: None,
            longest_reason: TEXT_LIMIT,
            in_setup: AtomicBool::new(false),
            dropped: Arc::default(),
            settings,
        }
    }

    /// Keys and peer; nothing is proved before the server has answered.
    fn session(&self) -> &Session {
        static UNKNOWN: Session = Session::unknown();
        self.session.get().map_or(&UNKNOWN, |session| session)
    }

    fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }

    /// The next message that overtook the answer.
    fn take_early(&self) -> Option<Buf> {
        // Almost always false, and then one load is all it costs; the lock is taken for the first messages alone.
        if !self.has_early.load(Ordering::Acquire) {
            return None;
        }
        let mut early = self.early.lock().unwrap_or_else(PoisonError::into_inner);
        let message = early.pop_front();
        self.has_early.store(!early.is_empty(), Ordering::Release);
        message
    }

    /// Whether `message` carries data of this connection.
    #[inline]
    fn is_data(&self, message: &[u8]) -> bool {
        message.first_chunk().is_some_and(|first| u32::from_le_bytes(*first) == self.data)
    }
}

impl<C: Connection<Data = Buf>> Connection for Link<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.base.base()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        if let Err(error) = self.shared.liveness.check() {
            match self.shared.send_opening(message, error).await? {
                Some(left) => message = left,
                None => return Ok(()),
            }
        }
        self.shared.base.send(self.shared.seal(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            if let Err(error) = shared.liveness.check() {
                shared.opened(error).await?;
            }
            if let Some(message) = shared.take_early() {
                return Ok(message);
            }
            let mut message = Parked::new(&shared.liveness, pin!(shared.base.recv())).await?;
            shared.liveness.arrived();
            if shared.is_data(&message) {
                message.advance(HEADER)?;
                return Ok(message);
            }
            shared.control(message).await;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        let (mut messages, mut left) = (messages, None);
        if let Err(error) = self.shared.liveness.check() {
            left = self.shared.send_batch_opening(&mut messages, error).await?;
        }
        let mut failed = Ok(());
        let sealed = left.into_iter().chain(messages).map_while(|message| match self.shared.seal(message) {
            Ok(message) => Some(message),
            Err(error) => {
                failed = Err(error);
                None
            }
        });
        self.shared.base.send_batch(sealed).await?;
        failed
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let shared = &*self.shared;
        if limit == 0 {
            return Ok(0);
        }
        loop {
            if let Err(error) = shared.liveness.check() {
                shared.opened(error).await?;
            }
            if let Some(message) = shared.take_early() {
                into.extend([message]);
                return Ok(1);
            }
            let mut filter = Filter::new(shared, into);
            Parked::new(&shared.liveness, pin!(shared.base.recv_batch(&mut filter, limit))).await?;
            shared.liveness.arrived();
            let Filter { data, others, .. } = filter;
            for message in others {
                shared.control(message).await;
            }
            if data > 0 {
                return Ok(data);
            }
        }
    }

    /// Tells the peer, at most three times, until it says that it has seen it; a peer that doesn't is gone.
    async fn close(&self) -> Result<(), Error> {
        self.shared.close().await
    }
}

impl<C> Shared<C> {
    /// Puts the header in front of a message.
    #[inline]
    fn seal(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            message = with_headroom(&message)?;
        }
        message.prepend(HEADER)?.copy_from_slice(&self.data.to_le_bytes());
        Ok(message)
    }
}

/// A copy, for a message that was not made by this connection's base and so has no room in front.
#[cold]
fn with_headroom(message: &[u8]) -> Result<Buf, Error> {
    Buf::copy_of(message, HEADER)
}

impl<C: Connection<Data = Buf>> Drop for Link<C> {
    /// An end that was dropped without `close` says so once, without waiting. If that is lost, the peer's idle
    /// time-out finds out.
    fn drop(&mut self) {
        if !self.shared.in_setup.load(Ordering::Relaxed) {
            self.shared.leave("");
        }
    }
}

impl<C: Connection<Data = Buf>> fmt::Debug for Link<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Link")
            .field("id", &format_args!("{:016x}", self.shared.id))
            .field("role", &self.shared.role)
            .field("peer", &self.shared.base.base().peer_addr())
            .finish_non_exhaustive()
    }
}
