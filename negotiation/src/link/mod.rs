//! The link: a base connection on which two ends agreed, and on which the stack stands.
//!
//! It puts a header of eight bytes in front of each message and takes them off again (see [`wire`](crate::wire)). Whatever is not
//! data goes to `control`, off the message path.

mod closing;
mod connector;
mod control;
mod epoch_queue;
mod epochs;
mod establish;
mod filter;
mod first_answer;
mod idle;
pub(crate) mod last_waiter;
mod late_answers;
mod live_count;
mod liveness;
mod opening;
mod parking;
mod replacement;
mod setup;
mod sync;
mod unproven;
mod watchdog;

use crate::handshake::Credit;
use crate::wire::{HEADER, Kind, Tag, header, parted};
use crate::{Session, Settings};
use bertha_core::{Base, Buf, Connection, Error, Role, Runtime};
use epochs::{Epochs, Sorted};
use filter::Filter;
use opening::Opening;
use setup::Setup;
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;
use unproven::Unproven;

pub(crate) use connector::LinkConnector;
pub use epoch_queue::{EpochQueue, GROUP_CAPACITY};
pub(crate) use epochs::{Fork, Received};
pub(crate) use establish::establish;
pub(crate) use late_answers::LateAnswers;
pub(crate) use live_count::{Counted, LiveCount};
pub use liveness::{End, Liveness};
pub(crate) use opening::{Connected, LinkTask, Opener, gone};
pub use parking::Parked;
pub(crate) use replacement::{CandidateSlot, FromLink};

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
    dropped: Arc<AtomicU64>,
    settings: Arc<Settings>,
    /// The time-out that both ends agreed on; the settings hold the one that this end asked for.
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

impl<C: Connection<Data = Buf>> Connection for Link<C> {
    type Data = Buf;
    type Base = C::Base;

    fn base(&self) -> &C::Base {
        self.shared.base.base()
    }

    fn mtu(&self) -> usize {
        self.shared.base.mtu()
    }

    async fn send(&self, mut message: Buf) -> Result<(), Error> {
        // Boxed, here and below, so that calls on a link in use have nothing to set up for what is rare.
        if !self.shared.liveness.is_alive() {
            match Box::pin(self.send_first(message)).await? {
                Some(left) => message = left,
                None => return Ok(()),
            }
        }
        self.shared.base.send(seal(message, self.queue.header)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            let state = self.queue.state();
            if state != 0 {
                if let Some(message) = self.queued() {
                    return Ok(message);
                }
                if EpochQueue::is_aside(state) || EpochQueue::is_parted(state) {
                    Box::pin(self.aside(state)).await?;
                    continue;
                }
            }
            if !shared.liveness.is_alive() {
                match Box::pin(self.receive_first()).await? {
                    Some(message) => return Ok(message),
                    // Messages that came meanwhile are in the queue, and go first.
                    None => continue,
                }
            }
            let reception = pin!(shared.base.recv());
            let reception = Parked::new(&shared.liveness, &self.queue, state, reception);
            let Some(mut message) = reception.await? else { continue };
            if self.queue.strip(&mut message) {
                shared.liveness.arrived();
                return Ok(message);
            }
            Box::pin(shared.deal_with(Some(&self.queue), [message])).await;
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        if !self.shared.liveness.is_alive()
            && let Some(left) = Box::pin(self.send_batch_first(&mut messages)).await?
        {
            self.shared.base.send(seal(left, self.queue.header)?).await?;
        }
        let mut outcome = Ok(());
        let (header, failed) = (self.queue.header, &mut outcome);
        let sealed = messages.map_while(move |message| match seal(message, header) {
            Ok(message) => Some(message),
            Err(error) => {
                *failed = Err(error);
                None
            }
        });
        self.shared.base.send_batch(sealed).await?;
        outcome
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let shared = &*self.shared;
        if limit == 0 {
            return Ok(0);
        }
        loop {
            let state = self.queue.state();
            if state != 0 {
                if let Some(message) = self.queued() {
                    into.extend([message]);
                    return Ok(1);
                }
                if EpochQueue::is_aside(state) || EpochQueue::is_parted(state) {
                    Box::pin(self.aside(state)).await?;
                    continue;
                }
            }
            if !shared.liveness.is_alive() {
                match Box::pin(self.receive_first()).await? {
                    Some(message) => {
                        into.extend([message]);
                        return Ok(1);
                    }
                    // Messages that came meanwhile are in the queue, and go first.
                    None => continue,
                }
            }
            let mut filter = Filter::new(&self.queue, into);
            let received = {
                let reception = pin!(shared.base.recv_batch(&mut filter, limit));
                Parked::new(&shared.liveness, &self.queue, state, reception).await?
            };
            let Some(received) = received else { continue };
            let others = filter.others;
            let data = received.saturating_sub(others.len());
            if data > 0 {
                shared.liveness.arrived();
            }
            if !others.is_empty() {
                Box::pin(shared.deal_with(Some(&self.queue), others)).await;
            }
            if data > 0 {
                return Ok(data);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.shared.base.drain()
    }

    /// Tells the peer, at most three times, until it says that it has seen it; a peer that doesn't is gone. Over a base
    /// that loses messages a task does so, and this returns once the first was sent.
    /// The link of an epoch that is over, or not yet there, has nothing to tell.
    async fn close(&self) -> Result<(), Error> {
        if !self.queue.is_in_force() {
            return Ok(());
        }
        self.shared.close().await
    }
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// The next message in the queue, unless the link can't be used.
    #[cold]
    fn queued(&self) -> Option<Buf> {
        let liveness = &self.shared.liveness;
        let (message, has_room) = if liveness.is_up() { self.queue.take()? } else { return None };
        if has_room {
            liveness.wake();
        }
        Some(message)
    }

    /// Waits as long as another reader reads, or none any more, and the queue, which had this `state`, is empty.
    #[cold]
    async fn aside(&self, state: u8) -> Result<(), Error> {
        let liveness = &self.shared.liveness;
        if !EpochQueue::is_aside(state)
            && let Some(close) = self.shared.close_after(&self.queue)
        {
            self.shared.closed_by_peer(close);
        }
        liveness.check()?;
        Parked::aside(liveness, &self.queue, state, || true).await.map(drop)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    /// Deals with messages that are not for the reader that has read them: first keeps all data, of other epochs or of
    /// its own queue behind an answer, since this may be cancelled after that.
    #[cold]
    async fn deal_with(&self, own: Option<&Arc<EpochQueue>>, messages: impl IntoIterator<Item = Buf>) {
        let parts = messages.into_iter().map(parted).flat_map(|(first, behind)| [Some(first), behind]);
        let mut sorted: Vec<_> = parts.flatten().map(|message| self.sort(own, message)).collect();
        // A confirmation ends this link, which would take the data behind it for a stranger's.
        sorted.sort_by_key(|message| matches!(message, Sorted::Control(it) if is_confirm(it)));
        for message in sorted {
            match message {
                Sorted::Control(message) => self.control(message).await,
                Sorted::Kept(queue) => {
                    self.liveness.arrived();
                    self.room(&queue).await;
                }
                Sorted::Dropped => {}
            }
        }
    }
}

fn is_confirm(message: &[u8]) -> bool {
    matches!(header(message), Some((Kind::Confirm, _)))
}

/// Puts the header in front of a message.
#[inline(always)]
fn seal(mut message: Buf, header: u64) -> Result<Buf, Error> {
    if message.headroom() < HEADER {
        message = with_headroom(&message)?;
    }
    message.prepend(HEADER)?.copy_from_slice(&header.to_le_bytes());
    Ok(message)
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
