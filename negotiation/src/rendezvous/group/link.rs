//! The link: a member's base connection, on which the stacks of a connection's rounds stand.

use super::dropped::Dropped;
use super::proofs::ProgressProofs;
use super::round::{RoundQueue, Sorted};
use super::round_id::RoundId;
use super::share::{Intake, REPETITIONS, RoundShare};
use crate::auth::GroupKey;
use crate::link::{EpochQueue, Lifecycle, Parked};
use crate::upgrade::{LinkHandle, Staged};
use crate::wire::{self, GROUP_HEADER, Kind, PROVEN_GROUP_HEADER, PeerProgress, Tag};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, OrdersByKey, Runtime};
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::sync::mpsc::Sender;

/// Maximum number of kept messages of rounds that this end does not know yet.
const MAX_STRAYS: usize = 1024;

/// Time for which such messages are kept. A participant that follows a change has opened the round before any
/// participant sends in it, so these messages reach a late participant, and only for a moment. Otherwise no
/// participant of that round has sent them: the tag can be guessed, and a sender that could fill rounds far
/// in the future would still be heard long after it has gone.
const STRAY_LIFE: Duration = Duration::from_secs(5);

/// The number of ended rounds whose late messages are recognised.
const MAX_RETIRED: usize = 16;

/// The connection on which a stack stands in a connection with any number of endpoints.
///
/// Chunnel authors meet it as their `Inner` at the bottom; it is never named in code.
pub struct GroupLink<B: Connection<Data = Buf>> {
    shared: Arc<GroupLinkShared<B>>,
    round: Arc<RoundQueue>,
}

/// The part of the link that the rounds of a connection share.
pub(crate) struct GroupLinkShared<B> {
    pub(super) base: B,
    /// This participant's id, which changes after it has expired.
    pub(super) own_id: AtomicU64,
    pub(super) lifecycle: Lifecycle,
    pub(super) dropped: Dropped,
    /// Present if each message reaches one receiver.
    sharing: Option<Sharing>,
    /// Present with a key of the group.
    proofs: Option<ProgressProofs>,
    rounds: Mutex<Rounds>,
    /// The channel for the other participants' progress.
    agent: Sender<PeerProgress>,
}

/// State of a member of a group where each message reaches one receiver.
struct Sharing {
    receives: bool,
    /// True if a receiver has learnt that a held message is repeated too often, so that the next call takes one message all the
    /// same: the stack may wait for that message to let go of the held one.
    is_told: AtomicBool,
}

struct Rounds {
    /// The rounds in use: two, and a round that is being built.
    open: Vec<Arc<RoundQueue>>,
    /// Messages of rounds that other participants are in and this end is not yet.
    strays: VecDeque<Stray>,
    /// The first bytes of messages of ended rounds, newest last.
    retired: VecDeque<u64>,
}

struct Stray {
    message: Buf,
    since: Instant,
}

impl<B: Connection<Data = Buf>> GroupLinkShared<B> {
    /// Makes the shared part. `receives` is true if this member receives, in a group where each message
    /// reaches one receiver.
    pub(super) fn new(
        base: B,
        own_id: u64,
        key: Option<GroupKey>,
        receives: Option<bool>,
        agent: Sender<PeerProgress>,
    ) -> Arc<Self> {
        let sharing = receives.map(|receives| Sharing { receives, is_told: AtomicBool::new(false) });
        base.base().reserve(if key.is_some() { PROVEN_GROUP_HEADER } else { GROUP_HEADER });
        let rounds = Rounds { open: Vec::new(), strays: VecDeque::new(), retired: VecDeque::new() };
        Arc::new(Self {
            base,
            own_id: AtomicU64::new(own_id),
            lifecycle: Lifecycle::default(),
            dropped: Dropped::new(),
            sharing,
            proofs: key.map(ProgressProofs::new),
            rounds: Mutex::new(rounds),
            agent,
        })
    }

    fn now(&self) -> Instant {
        self.base.base().runtime().now()
    }

    fn rounds(&self) -> MutexGuard<'_, Rounds> {
        self.rounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to keep messages of a round, and makes the link of its stack.
    pub(super) fn open_round(
        self: &Arc<Self>,
        id: RoundId,
        from_start: bool,
        is_not_reader: bool,
    ) -> Staged<GroupLink<B>, RoundQueue> {
        let key = self.proofs.as_ref().map(ProgressProofs::key);
        let round = Arc::new(match &self.sharing {
            None => RoundQueue::new(id, from_start, is_not_reader, key),
            Some(_) => RoundQueue::shared(id, is_not_reader, from_start),
        });
        let mut rounds = self.rounds();
        rounds.retired.retain(|header| *header != round.queue.header);
        rounds.open.retain(|other| other.queue.header != round.queue.header);
        rounds.open.push(round.clone());
        let strays = std::mem::take(&mut rounds.strays);
        drop(rounds);
        let now = self.now();
        let is_late = |since: Instant| now.saturating_duration_since(since) >= STRAY_LIFE;
        for Stray { message, since } in strays {
            // Where messages are shared, dropping a message would acknowledge it.
            match is_late(since) && !self.is_shared() {
                true => self.dropped.late.add(1),
                false => drop(self.sort(message, since)),
            }
        }
        Staged { link: GroupLink { shared: self.clone(), round: round.clone() }, queue: round }
    }

    /// Makes room for other senders: `gone` left so long ago that no message of them is expected any more.
    pub(super) fn forget_senders(&self, gone: &[u64]) {
        self.rounds().open.iter().for_each(|round| round.forget_senders(gone));
        if let Some(proofs) = &self.proofs {
            proofs.forget(gone);
        }
    }

    /// Returns true if each message reaches one receiver.
    pub(super) fn is_shared(&self) -> bool {
        self.sharing.is_some()
    }

    /// Returns true if this member receives.
    pub(super) fn receives(&self) -> bool {
        self.sharing.as_ref().is_none_or(|sharing| sharing.receives)
    }

    /// Begins to read messages for this round, in which this end did not receive before.
    pub(super) fn read_for(&self, round: &RoundQueue) {
        round.queue.set_not_reader(false);
        self.lifecycle.wake();
    }

    /// Keeps a message that can't be decoded here, so that it is not acknowledged. [`may_take`](Self::may_take)
    /// bounds the number of such messages.
    #[cold]
    fn hold(&self, message: Buf, since: Instant) {
        let mut rounds = self.rounds();
        if rounds.strays.len() < MAX_STRAYS {
            tracing::warn!(target: "bertha::negotiation", "a message of another round arrived; it is kept, and not acknowledged");
        }
        rounds.strays.push_back(Stray { message, since });
    }

    /// Returns the number of messages that this end may take, of `limit`.
    ///
    /// # Errors
    /// The end holds too many messages that it can't decode; or a held message is repeated too often, and then each second call
    /// may take one message, unless there are too many repetitions.
    fn may_take(&self, limit: usize) -> Result<usize, Error> {
        let Some(sharing) = &self.sharing else { return Ok(limit) };
        let rounds = self.rounds();
        let shares = rounds.open.iter().filter_map(|round| round.share.as_ref());
        let intake = shares.map(|share| share.intake()).max().unwrap_or(Intake::Free);
        // Relaxed: no other data depends on the flag.
        let is_told = intake == Intake::Overdue && sharing.is_told.fetch_not(Ordering::Relaxed);
        if intake != Intake::Free && !is_told {
            let what = format!(
                "a message that is held here was repeated {REPETITIONS} times; drop received messages, or give the service a longer time"
            );
            return Err(Error::new(ErrorKind::Exhausted, what).at("rendezvous"));
        }
        if rounds.strays.len() >= MAX_STRAYS {
            let what = format!(
                "{MAX_STRAYS} messages of the subscription are of participants that have gone, and nobody can decode them; purge it"
            );
            return Err(Error::new(ErrorKind::Invalid, what).at("rendezvous"));
        }
        Ok(if is_told { 1 } else { limit })
    }

    /// Returns the error of [`may_take`](Self::may_take) after a pause: a caller that asks again at once keeps no thread from the task that
    /// holds the messages.
    async fn wait_to_take(&self, limit: usize) -> Result<usize, Error> {
        const PAUSE: Duration = Duration::from_millis(10);
        let may_take = self.may_take(limit);
        if may_take.is_err() {
            let runtime = self.base.base().runtime();
            runtime.sleep_until(runtime.now() + PAUSE).await;
        }
        may_take
    }

    /// Keeps a message, which arrived at `since`, for the receivers of its round. Returns a message that
    /// belongs to no round.
    fn sort(&self, mut message: Buf, since: Instant) -> Option<Buf> {
        let mut rounds = self.rounds();
        for round in &rounds.open {
            match round.open(&mut message) {
                Sorted::Own => {
                    let kept = round.queue.put(message, self.is_shared());
                    drop(rounds);
                    self.lifecycle.wake();
                    match kept {
                        Err(message) if self.is_shared() => self.hold(message, since),
                        Err(_) => self.dropped.without_room.add(1),
                        Ok(()) => {}
                    }
                    return None;
                }
                Sorted::Bad => {
                    drop(rounds);
                    message.done();
                    self.dropped.forged.add(1);
                    return None;
                }
                Sorted::Other => {}
            }
        }
        let header = message.first_chunk().map(|header| u64::from_le_bytes(*header));
        let data = if self.proofs.is_some() { Kind::ProvenGroupData } else { Kind::GroupData };
        let is_data = wire::header(&message).is_some_and(|(kind, _)| kind == data);
        if !is_data {
            return Some(message);
        }
        if self.is_shared() {
            drop(rounds);
            self.hold(message, since);
            return None;
        }
        if header.is_some_and(|header| rounds.retired.contains(&header)) {
            drop(rounds);
            self.dropped.late.add(1);
            return None;
        }
        let is_full = rounds.strays.len() >= MAX_STRAYS;
        if is_full {
            rounds.strays.pop_front();
            self.dropped.without_room.add(1);
        }
        rounds.strays.push_back(Stray { message, since });
        None
    }

    /// Handles a message that does not belong to the round of the receiver that read it.
    #[cold]
    fn on_other(&self, message: Buf) {
        let Some(message) = self.sort(message, self.now()) else { return };
        let progress = match wire::header(&message) {
            Some((Kind::PeerProgress, _)) => match &self.proofs {
                None => wire::decode(&message).ok(),
                Some(proofs) => proofs.decode(&message),
            },
            _ => None,
        };
        // Progress is repeated by its participant, and not by the service.
        message.done();
        match progress {
            // Progress that finds no room is sent again by its participant.
            Some(progress) => {
                let is_lost = self.agent.try_send(progress).is_err();
                self.dropped.without_room.add(u64::from(is_lost));
            }
            None => self.dropped.forged.add(1),
        }
    }

    /// Sends progress to all other participants. A failure is not reported: progress that matters is
    /// repeated.
    pub(super) async fn send_progress(&self, progress: &PeerProgress) {
        let tag = Tag::of_round(progress.life, progress.round);
        let bytes = match &self.proofs {
            None => wire::encode(Kind::PeerProgress, tag, progress).ok(),
            Some(proofs) => proofs.encode(tag, progress),
        };
        if let Some(bytes) = bytes
            && let Ok(message) = Buf::copy_of(&bytes, 0)
        {
            let _ = self.base.send(message).await;
        }
    }

    async fn read_one(&self) -> Result<(), Error> {
        self.lifecycle.check()?;
        // An empty queue, since news in a used queue would interrupt the reception.
        let unused = EpochQueue::among([0; wire::HEADER], true);
        let reception = pin!(self.base.recv());
        if let Some(message) = Parked::new(&self.lifecycle, &unused, unused.state(), reception).await? {
            self.on_other(message);
        }
        Ok(())
    }
}

impl<B: Connection<Data = Buf>> LinkHandle for GroupLinkShared<B> {
    type Queue = RoundQueue;
    type Base = B::Base;

    fn base(&self) -> &B::Base {
        self.base.base()
    }

    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.read_one()
    }

    /// Ends the queue of the old round and returns true, if Chunnels may still hold messages of the datagrams
    /// that were counted.
    ///
    /// Where messages are shared, all messages have arrived, and sends in the new round wait for the other
    /// participants. An end without a part in the round has an empty stack, and no reception that could
    /// detect this.
    fn complete(&self, old: &RoundQueue, new: &RoundQueue) -> bool {
        if self.sharing.is_none() {
            new.lift_limit();
        }
        let holds = |share: &RoundShare| self.receives() && share.has_part() && !share.has_let_all_go();
        let may_hold = old.share.as_deref().is_none_or(holds);
        if may_hold {
            old.queue.end();
        }
        self.lifecycle.wake();
        may_hold
    }

    fn read_through(&self, old: &RoundQueue, new: &RoundQueue) {
        old.queue.set_not_reader(true);
        if new.share.as_ref().is_none_or(|share| share.has_part()) {
            new.queue.set_not_reader(false);
        }
        self.lifecycle.wake();
    }

    fn forget(&self, round: &Arc<RoundQueue>) {
        let mut rounds = self.rounds();
        rounds.open.retain(|other| !Arc::ptr_eq(other, round));
        if rounds.retired.len() >= MAX_RETIRED {
            rounds.retired.pop_front();
        }
        rounds.retired.push_back(round.queue.header);
    }
}

impl<B: Connection<Data = Buf>> GroupLink<B> {
    pub(super) fn shared(&self) -> &Arc<GroupLinkShared<B>> {
        &self.shared
    }

    fn own_id(&self) -> u64 {
        self.shared.own_id.load(Ordering::Relaxed)
    }

    /// Waits as long as other participants could not keep the messages that this end would send.
    #[cold]
    async fn until_allowed(&self) -> Result<(), Error> {
        let has_none = || self.round.allowance() == Some(0);
        while has_none() {
            self.round.may_send()?;
            let queue = &self.round.queue;
            Parked::not_reader(&self.shared.lifecycle, queue, queue.state(), has_none).await?;
        }
        Ok(())
    }

    /// Returns the next message of the queue, which is in this state. Without a message, waits as long as
    /// receivers of another round read.
    #[cold]
    async fn queued(&self, state: u8) -> Result<Option<Buf>, Error> {
        let queue = &self.round.queue;
        if let Some((message, _)) = queue.take() {
            return Ok(Some(message));
        }
        if EpochQueue::is_over(state) {
            return Err(Error::new(ErrorKind::Closed, "the round is over").at("rendezvous"));
        }
        if EpochQueue::is_not_reader(state) {
            Parked::not_reader(&self.shared.lifecycle, queue, state, || true).await?;
        }
        Ok(None)
    }
}

impl<B: Connection<Data = Buf>> Connection for GroupLink<B> {
    type Data = Buf;
    type Base = B::Base;

    fn base(&self) -> &B::Base {
        self.shared.base.base()
    }

    fn mtu(&self) -> usize {
        self.shared.base.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.shared.lifecycle.check()?;
        if self.round.allowance() == Some(0) {
            self.until_allowed().await?;
        }
        self.shared.base.send(self.round.seal(message, self.own_id())?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            shared.lifecycle.check()?;
            let state = self.round.queue.state();
            if state != 0 {
                match self.queued(state).await? {
                    Some(message) => return Ok(message),
                    None if EpochQueue::is_not_reader(state) => continue,
                    None => {}
                }
            }
            shared.wait_to_take(1).await?;
            let reception = pin!(shared.base.recv());
            let reception = Parked::new(&shared.lifecycle, &self.round.queue, state, reception);
            let Some(mut message) = reception.await? else { continue };
            match self.round.open(&mut message) {
                Sorted::Own => return Ok(message),
                Sorted::Bad => shared.dropped.forged.add(1),
                Sorted::Other => shared.on_other(message),
            }
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        loop {
            self.shared.lifecycle.check()?;
            let mut allowance = self.round.allowance().unwrap_or(u32::MAX);
            if allowance == 0 {
                self.until_allowed().await?;
                continue;
            }
            let mut done = None;
            let sealed = std::iter::from_fn(|| {
                allowance = allowance.checked_sub(1)?;
                match messages.next().map(|message| self.round.seal(message, self.own_id())) {
                    Some(Ok(message)) => return Some(message),
                    Some(Err(error)) => done = Some(Err(error)),
                    None => done = Some(Ok(())),
                }
                None
            });
            self.shared.base.send_batch(sealed).await?;
            // Without this check more messages could be sent than allowed.
            if let Some(done) = done {
                return done;
            }
        }
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        let shared = &*self.shared;
        if limit == 0 {
            return Ok(0);
        }
        loop {
            shared.lifecycle.check()?;
            let state = self.round.queue.state();
            if state != 0 {
                match self.queued(state).await? {
                    Some(message) => {
                        into.extend([message]);
                        return Ok(1);
                    }
                    None if EpochQueue::is_not_reader(state) => continue,
                    None => {}
                }
            }
            let limit = shared.wait_to_take(limit).await?;
            let mut sorter = Sorter { link: self, into, data: 0 };
            {
                let reception = pin!(shared.base.recv_batch(&mut sorter, limit));
                Parked::new(&shared.lifecycle, &self.round.queue, state, reception).await?;
            }
            if sorter.data > 0 {
                return Ok(sorter.data);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.shared.base.drain()
    }

    /// Does nothing: the end of a round is not the end of the connection.
    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Keeps an order by key if the connection below keeps it.
impl<B: OrdersByKey> OrdersByKey for GroupLink<B> {
    fn keeps_order_by_key(&self) -> Result<(), Error> {
        self.shared.base.keeps_order_by_key()
    }

    async fn send_by_key(&self, key: u64, message: Buf) -> Result<(), Error> {
        self.shared.lifecycle.check()?;
        self.until_allowed().await?;
        self.shared.base.send_by_key(key, self.round.seal(message, self.own_id())?).await
    }

    async fn send_batch_by_key(
        &self,
        mut messages: impl Iterator<Item = (u64, Buf)> + Send,
    ) -> Result<(), Error> {
        loop {
            self.shared.lifecycle.check()?;
            self.until_allowed().await?;
            let mut allowance = self.round.allowance().unwrap_or(u32::MAX);
            let mut done = None;
            let sealed = std::iter::from_fn(|| {
                allowance = allowance.checked_sub(1)?;
                match messages
                    .next()
                    .map(|(key, message)| Ok((key, self.round.seal(message, self.own_id())?)))
                {
                    Some(Ok(message)) => return Some(message),
                    Some(Err(error)) => done = Some(Err(error)),
                    None => done = Some(Ok(())),
                }
                None
            });
            self.shared.base.send_batch_by_key(sealed).await?;
            // Without this check more messages could be sent than allowed.
            if let Some(done) = done {
                return done;
            }
        }
    }
}

/// Passes on the messages of this round from a burst, and puts other messages into their rounds' queues.
struct Sorter<'a, B: Connection<Data = Buf>, I> {
    link: &'a GroupLink<B>,
    into: &'a mut I,
    data: usize,
}

impl<B: Connection<Data = Buf>, I: Extend<Buf>> Extend<Buf> for Sorter<'_, B, I> {
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        for mut message in messages {
            match self.link.round.open(&mut message) {
                Sorted::Own => {
                    self.data += 1;
                    self.into.extend([message]);
                }
                Sorted::Bad => self.link.shared.dropped.forged.add(1),
                Sorted::Other => self.link.shared.on_other(message),
            }
        }
    }
}

impl<B: Connection<Data = Buf>> fmt::Debug for GroupLink<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupLink").field("round", &self.round.id).finish_non_exhaustive()
    }
}
