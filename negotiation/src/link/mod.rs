//! The link: a base connection on which two ends agreed, and on which the stack stands.
//!
//! It puts a header of eight bytes in front of each message and takes them off again (see [`wire`](crate::wire)), in `connection`.
//! Whatever is not data goes to `control`, off the message path.

mod closing;
mod connection;
mod connector;
mod control;
mod epoch_queue;
mod epochs;
mod establish;
mod established;
mod first_answer;
mod idle;
pub(crate) mod last_waiter;
mod late_answers;
mod live_count;
mod liveness;
mod opening;
mod replacement;
mod setup;
mod sync;
mod unproven;
mod watchdog;

use crate::handshake::Credit;
use crate::wire::{HEADER, Tag};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Role, Runtime};
use epochs::Epochs;
use opening::Opening;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use unproven::Unproven;

pub(crate) use connection::Parked;
pub(crate) use connector::LinkConnector;
pub(crate) use epoch_queue::{EpochQueue, GROUP_CAPACITY};
pub(crate) use epochs::{Fork, Received};
pub(crate) use establish::establish;
pub(crate) use established::Established;
pub(crate) use late_answers::LateAnswers;
pub(crate) use live_count::{Counted, LiveCount};
pub(crate) use liveness::{End, Liveness};
pub(crate) use opening::{Connected, LinkTask, Opener, gone};
pub(crate) use replacement::{CandidateSlot, FromLink};
pub(crate) use setup::Setup;

/// The connection at the bottom of a stack after negotiation.
///
/// Chunnel authors meet it as their `Inner` at the bottom of a negotiated stack; it is never named in code.
pub struct Link<C: Connection<Data = Buf>> {
    shared: Arc<Shared<C>>,
    queue: Arc<EpochQueue>,
}

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

pub(crate) struct Shared<C: Connection<Data = Buf>> {
    /// Shared with the link that replaces this one when the peer restarts.
    base: Arc<C>,
    id: u64,
    role: Role,
    liveness: Liveness,
    epochs: Epochs<C>,
    /// How both ends agreed on it, and what proves that a message about it is the peer's.
    session: OnceLock<Arc<Session>>,
    agreed: OnceLock<Agreed>,
    /// The state until the server has answered, if the link was there before.
    opening: Option<Box<Opening>>,
    /// Ends with the last link. Not there where another task [watches](watchdog::later).
    watchdog: OnceLock<TaskOf<C>>,
    /// Sends an answer that the datapath could not take at once.
    late_answer: OnceLock<TaskOf<C>>,
    /// Repeats the close after this end has closed.
    closing: OnceLock<TaskOf<C>>,
    /// On a server, what happens if the client turns out to have restarted.
    replacement: Option<replacement::Replacement<C>>,
    /// On a server, the credit of a client that was let in on its word.
    unproven: Option<Unproven>,
    /// Whether the stack is still being built, so that dropping the link is not yet its end.
    in_setup: AtomicBool,
    /// The server's questions for a sign of life.
    asked: Mutex<Asked>,
    dropped: Arc<AtomicU64>,
    settings: Arc<Settings>,
    /// The time-out that both ends agreed on; the settings hold the one that this end asked for.
    idle_timeout: Duration,
}

/// A server's questions, which anybody can ask that has seen the tag.
#[derive(Default)]
struct Asked {
    last: Option<Instant>,
    /// How many there were.
    count: u8,
    /// Whether the answer to the last one was the offer, and no cookie has been asked for since.
    offered: bool,
}

/// The message that is repeated if the peer repeats itself.
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
        /// The offer, for a server that has had to forget it before it was confirmed; kept only with credentials, and if the server took no
        /// messages that went with it: those are [kept](Opening) with their offer.
        offer: Vec<u8>,
        /// The encoded answer; kept only if it has a proof, and is recognised by its bytes.
        answer: Vec<u8>,
        /// The number that the answer asked for.
        confirm: Option<u64>,
        /// The number of first messages that the server took.
        early: u16,
    },
}

/// The initial state of a link.
pub(crate) struct Start<C> {
    pub(crate) base: Arc<C>,
    pub(crate) id: u64,
    pub(crate) role: Role,
    pub(crate) early: VecDeque<Buf>,
    /// Whether this end has answered, and the answer has yet to leave.
    pub(crate) has_to_answer: bool,
    pub(crate) session: Arc<Session>,
    pub(crate) agreed: Agreed,
    pub(crate) listener: Option<Sender<FromLink<C>>>,
    /// There for a client that has not shown that its address is its own, with what may still be sent to it, and the number
    /// that will show it.
    pub(crate) unproven: Option<(Counted, Credit, u64)>,
    pub(crate) settings: Arc<Settings>,
    /// The time-out that both ends agreed on.
    pub(crate) idle_timeout: Duration,
    /// When that was, about.
    pub(crate) now: Instant,
}

impl<C: Connection<Data = Buf>> Link<C> {
    pub(crate) fn new(start: Start<C>) -> Self {
        let queue = Arc::new(EpochQueue::first(Tag::of(start.id), start.early));
        let unproven =
            start.unproven.map(|unproven| Unproven::new(unproven, &queue, &start.settings, start.now));
        let times = (start.settings, start.idle_timeout);
        let mut shared = Shared::new(start.base, start.id, start.role, times);
        if start.has_to_answer {
            shared.liveness = Liveness::answering();
        } else if unproven.is_some() {
            shared.liveness = Liveness::unproven();
        }
        shared.session = start.session.into();
        shared.agreed = start.agreed.into();
        shared.replacement =
            start.listener.map(|listener| replacement::Replacement::new(listener, start.now));
        shared.unproven = unproven;
        let link = Self::of(shared, queue);
        let _ = link.shared.watchdog.set(watchdog::set(&link.shared, start.now));
        link
    }

    fn of(shared: Shared<C>, queue: Arc<EpochQueue>) -> Self {
        // A link that replaces another stands on a base whose headroom is reserved already.
        let base = shared.base.base();
        if base.reserved() < HEADER {
            base.reserve(HEADER);
        }
        Self { shared: Arc::new(shared), queue }
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

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Nothing is agreed, and no message is there.
    fn new(base: Arc<C>, id: u64, role: Role, (settings, idle_timeout): (Arc<Settings>, Duration)) -> Self {
        Self {
            base,
            id,
            role,
            liveness: Liveness::default(),
            epochs: Epochs::default(),
            session: OnceLock::new(),
            agreed: OnceLock::new(),
            opening: None,
            watchdog: OnceLock::new(),
            late_answer: OnceLock::new(),
            closing: OnceLock::new(),
            replacement: None,
            unproven: None,
            in_setup: AtomicBool::new(false),
            asked: Mutex::default(),
            dropped: Arc::default(),
            settings,
            idle_timeout,
        }
    }

    /// Keys and peer; nothing is proved before the server has answered.
    pub(crate) fn session(&self) -> &Session {
        static UNKNOWN: Session = Session::unknown();
        self.session.get().map_or(&UNKNOWN, |session| session)
    }

    fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl<C: Connection<Data = Buf>> Drop for Link<C> {
    /// An end that was dropped without `close` says so once, without waiting: the peer gets [`Reset`](bertha_core::ErrorKind::Reset).
    /// If that is lost, the peer's idle time-out finds out.
    fn drop(&mut self) {
        if self.queue.is_in_force() {
            self.shared.dropped_stack();
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod guessed_tests;
