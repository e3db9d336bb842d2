//! The link: a base connection on which two ends agreed, and on which the stack stands.
//!
//! The link puts a header of eight bytes in front of each message and takes it off again (see
//! [`wire`](crate::wire)), in `connection`. All messages that are not data go to `control`, off the message
//! path.
//!
//! [`LinkState`] names the states of a link; the diagram of its changes stands in [`establishing`].

mod closing;
mod connection;
mod connector;
mod control;
mod epoch_queue;
mod epochs;
mod establishing;
mod evictable;
mod idle;
mod lifecycle;
mod live_count;
mod movable;
mod parked;
mod replacement;
mod siblings;
mod state;
mod statistics;
mod waker_list;
mod watchdog;

use crate::wire::{HEADER, Tag};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Role, Route, Runtime};
use control::ServerQuestions;
use epochs::Epochs;
use establishing::{EarlyHandshake, UnvalidatedAddress};
use movable::FurtherLinks;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;

pub(crate) use connector::{AcceptedConnector, LinkConnector};
pub(crate) use epoch_queue::{EpochQueue, GROUP_CAPACITY};
pub(crate) use epochs::{Fork, Received};
pub(crate) use establishing::{
    AddressChallenge, AnswerTask, Answered, EarlyLink, Setup, establish, given_up,
};
pub(crate) use evictable::Evictable;
pub(crate) use lifecycle::Lifecycle;
pub(crate) use live_count::{Counted, LiveCount};
pub(crate) use movable::{MovableLinks, data_tag};
pub(crate) use parked::Parked;
pub(crate) use replacement::{CandidateSlot, FromLink};
pub(crate) use state::End;
pub(crate) use state::LinkState;
pub use statistics::LinkStatistics;
pub(crate) use waker_list::WakerList;

/// The connection at the bottom of a stack after negotiation.
///
/// Chunnel authors meet it as their `Inner` at the bottom of a negotiated stack. No code names it.
pub struct Link<C: Connection<Data = Buf>> {
    shared: Arc<LinkShared<C>>,
    queue: Arc<EpochQueue>,
    /// The base that data take: the link's, or that of a sibling.
    base: Arc<C>,
    /// The steering of messages to this link, if it is a sibling.
    route: Option<Arc<dyn Route>>,
}

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

pub(crate) struct LinkShared<C: Connection<Data = Buf>> {
    /// The base, which the link of a restarted peer takes over from this link.
    base: Arc<C>,
    id: u64,
    role: Role,
    lifecycle: Lifecycle,
    epochs: Epochs<C>,
    /// The agreement, and the proofs of the messages about the connection.
    session: OnceLock<Arc<Session>>,
    agreed: OnceLock<Agreed>,
    /// The handshake of a link whose stack was built before the server's answer.
    early_handshake: Option<Box<EarlyHandshake>>,
    /// The task of the watchdog, which ends with the last link. Not set where another task polls the
    /// [watchdog](watchdog::from_first_tick).
    watchdog: OnceLock<TaskOf<C>>,
    /// The task that sends an answer which the datapath could not take at once.
    answer_sender: OnceLock<TaskOf<C>>,
    /// The task that repeats the close after this end has closed.
    closing: OnceLock<TaskOf<C>>,
    /// On a server, the clients that may take the place of this link's client after a restart.
    replacement: Option<replacement::Replacement<C>>,
    /// On a server, the links to other addresses of the same client.
    further: OnceLock<Box<FurtherLinks<C>>>,
    /// On a server, the address of a client that was let in on its word.
    unvalidated: Option<UnvalidatedAddress>,
    /// True while the stack is being built, so that dropping the link is not yet the connection's end.
    in_setup: AtomicBool,
    /// The server's questions if this client is there.
    questions: Mutex<ServerQuestions>,
    dropped: Arc<AtomicU64>,
    settings: Arc<Settings>,
    /// The time-out that both ends agreed on. The settings hold the time-out that this end asked for.
    idle_timeout: Duration,
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
        /// The encoded offer, to be sent again if the server has dropped it before the confirmation. Empty
        /// without credentials, and if the server took early messages: then the [first
        /// flight](EarlyHandshake) has it.
        offer: Vec<u8>,
        /// The encoded answer, by which its repetitions are recognised. Empty without credentials.
        answer: Vec<u8>,
        /// The number that the answer asked for.
        confirm: Option<u64>,
        /// The number of early messages that the server took.
        early: u16,
    },
}

/// The initial state of a link.
pub(crate) struct Start<C> {
    pub(crate) base: Arc<C>,
    pub(crate) id: u64,
    pub(crate) role: Role,
    pub(crate) early: VecDeque<Buf>,
    /// True if this end has yet to send its answer.
    pub(crate) has_to_answer: bool,
    pub(crate) session: Arc<Session>,
    pub(crate) agreed: Agreed,
    pub(crate) listener: Option<Sender<FromLink<C>>>,
    /// The demand that a client prove its address, if the client has not.
    pub(crate) address_challenge: Option<AddressChallenge>,
    pub(crate) settings: Arc<Settings>,
    /// The time-out that both ends agreed on.
    pub(crate) idle_timeout: Duration,
    /// Time of the start, approximately.
    pub(crate) now: Instant,
}

impl<C: Connection<Data = Buf>> Link<C> {
    pub(crate) fn new(start: Start<C>) -> Self {
        let queue = Arc::new(EpochQueue::first(Tag::of(start.id), start.early));
        let unvalidated = start
            .address_challenge
            .map(|challenge| UnvalidatedAddress::new(challenge, &queue, &start.settings, start.now));
        let mut shared =
            LinkShared::new(start.base, start.id, start.role, start.settings, start.idle_timeout);
        if start.has_to_answer {
            shared.lifecycle = Lifecycle::new(LinkState::AnswerPending);
        } else if unvalidated.is_some() {
            shared.lifecycle = Lifecycle::new(LinkState::AddressUnvalidated);
        }
        shared.session = start.session.into();
        shared.agreed = start.agreed.into();
        shared.replacement =
            start.listener.map(|listener| replacement::Replacement::new(listener, start.now));
        shared.unvalidated = unvalidated;
        let link = Self::of(shared, queue);
        let _ = link.shared.watchdog.set(watchdog::spawn(&link.shared, start.now));
        link
    }

    fn of(shared: LinkShared<C>, queue: Arc<EpochQueue>) -> Self {
        // A link that replaces another stands on a base whose headroom is reserved already.
        let base = shared.base.base();
        if base.reserved() < HEADER {
            base.reserve(HEADER);
        }
        Self { base: shared.base.clone(), shared: Arc::new(shared), queue, route: None }
    }

    /// Returns the running count of messages that were dropped: damaged, late, or of no connection.
    pub(crate) fn dropped(&self) -> Arc<AtomicU64> {
        self.shared.dropped.clone()
    }

    /// Sends the confirmation, if the server has asked for it.
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

impl<C: Connection<Data = Buf>> LinkShared<C> {
    /// Ends the link, wakes all waiting tasks, and tells the reason. Returns false if the link had ended before.
    fn end(&self, end: End) -> bool {
        let is_first = self.lifecycle.end(end);
        if is_first {
            let peer = self.base.base().peer_addr();
            tracing::debug!(target: "bertha::negotiation", %peer, reason = ?end, "a connection ends");
        }
        is_first
    }

    /// Makes the state of a link on which nothing is agreed, and which has no messages.
    fn new(base: Arc<C>, id: u64, role: Role, settings: Arc<Settings>, idle_timeout: Duration) -> Self {
        Self {
            base,
            id,
            role,
            lifecycle: Lifecycle::default(),
            epochs: Epochs::default(),
            session: OnceLock::new(),
            agreed: OnceLock::new(),
            early_handshake: None,
            watchdog: OnceLock::new(),
            answer_sender: OnceLock::new(),
            closing: OnceLock::new(),
            replacement: None,
            further: OnceLock::new(),
            unvalidated: None,
            in_setup: AtomicBool::new(false),
            questions: Mutex::default(),
            dropped: Arc::default(),
            settings,
            idle_timeout,
        }
    }

    /// Returns the keys and the peer. Before the server has answered, there are none.
    pub(crate) fn session(&self) -> &Session {
        static UNKNOWN: Session = Session::unknown();
        self.session.get().map_or(&UNKNOWN, |session| session)
    }

    fn count_dropped(&self) {
        self.dropped.fetch_add(1, Ordering::Relaxed);
    }
}

impl<C: Connection<Data = Buf>> Drop for Link<C> {
    /// Tells the peer once, without waiting, that this end was dropped without `close`: the peer gets
    /// [`Reset`](bertha_core::ErrorKind::Reset). If that message is lost, the peer's idle time-out ends the
    /// connection.
    fn drop(&mut self) {
        if self.queue.is_active() {
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
mod control_tests;
