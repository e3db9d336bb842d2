//! The link: a base connection on which two ends agreed, and on which the stack stands.
//!
//! It puts four bytes in front of each message and takes them off again (see [`wire`](crate::wire)). Whatever is not
//! data goes to `control`, off the message path.

mod control;
mod filter;
mod liveness;
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
use parking::Parked;
use setup::Setup;
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use tokio::sync::mpsc::Sender;

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
    /// The first four bytes of a data message.
    data: [u8; HEADER],
    liveness: Liveness,
    /// Data that overtook the answer, and whether there is any left.
    early: Mutex<VecDeque<Buf>>,
    has_early: AtomicBool,
    /// How both ends agreed on it, and what proves that a message about it is the peer's.
    session: Arc<Session>,
    agreed: Agreed,
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
        // A link that replaces another stands on a base whose headroom is reserved already.
        if base.base().reserved() < HEADER {
            base.base().reserve(HEADER);
        }
        let (unproven, credit) = unproven.unzip();
        let longest_reason = credit.map_or(TEXT_LIMIT, |credit| {
            TEXT_LIMIT.min(credit.left().saturating_sub(FAREWELL)).max(SHORTEST_REASON)
        });
        let shared = Arc::new(Shared {
            longest_reason,
            id,
            role,
            data: Tag::of(id).header(Kind::Data),
            liveness: Liveness::default(),
            has_early: AtomicBool::new(!early.is_empty()),
            early: Mutex::new(early),
            session,
            agreed,
            replacement: listener.map(replacement::Replacement::new),
            _unproven: unproven,
            in_setup: AtomicBool::new(false),
            dropped: Arc::default(),
            settings,
            base,
        });
        let watchdog = watchdog::start(&shared);
        Self { shared, _watchdog: watchdog }
    }

    /// A running count of messages that were dropped: damaged, late, or of no connection.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        self.shared.dropped.clone()
    }

    /// Tells the server that this client is there, if the server asked.
    pub(crate) async fn confirm(&self) {
        if let Agreed::Client { confirm: Some(number), .. } = self.shared.agreed {
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
}

impl<C: Connection<Data = Buf>> Connection for Link<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.base.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.shared.liveness.check()?;
        self.shared.base.send(self.shared.seal(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            shared.liveness.check()?;
            if let Some(message) = shared.take_early() {
                return Ok(message);
            }
            let mut message = Parked::new(&shared.liveness, pin!(shared.base.recv())).await?;
            shared.liveness.arrived();
            if message.strip_prefix(&shared.data) {
                return Ok(message);
            }
            shared.control(message).await;
        }
    }

    async fn send_batch(&self, messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        self.shared.liveness.check()?;
        let mut failed = Ok(());
        let sealed = messages.map_while(|message| match self.shared.seal(message) {
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
            shared.liveness.check()?;
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
    #[inline(always)]
    fn seal(&self, mut message: Buf) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            message = with_headroom(&message)?;
        }
        message.prepend(HEADER)?.copy_from_slice(&self.data);
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
