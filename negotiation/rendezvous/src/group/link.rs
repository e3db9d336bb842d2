//! The link: a member's base connection, on which the stacks of a connection's rounds stand.

use super::round::{GroupLane, RoundId, Sorting};
use bertha_core::{Base, Buf, Connection, Error, ErrorKind, Runtime};
use bertha_negotiation::internals::Meanwhile;
use bertha_negotiation::internals::{EpochQueue, Liveness, Parked};
use bertha_negotiation::wire::{self, GROUP_HEADER, Kind, Standing, Tag};
use std::collections::VecDeque;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::mpsc::Sender;

/// How many messages of rounds that this end does not know yet are kept for it.
const STRAYS: usize = 1024;

/// Of how many rounds that have ended this end knows that it needs no message of them.
const RETIRED: usize = 16;

/// What a stack stands on in a connection with any number of endpoints.
///
/// Chunnel authors meet it as their `Inner` at the bottom; it is never named in code.
pub struct GroupLink<B: Connection<Data = Buf>> {
    shared: Arc<Shared<B>>,
    lane: Arc<GroupLane>,
}

/// What the rounds of a connection have in common.
pub(super) struct Shared<B> {
    pub(super) base: B,
    /// This participant's id: another one after it has expired.
    pub(super) own_id: AtomicU64,
    pub(super) liveness: Liveness,
    pub(super) dropped: AtomicU64,
    lanes: Mutex<Lanes>,
    /// Where the others' standings go.
    agent: Sender<Standing>,
}

struct Lanes {
    /// Those in use: two, and one that is being built.
    open: Vec<Arc<GroupLane>>,
    /// Messages of rounds that others are in and this end is not yet.
    strays: VecDeque<Buf>,
    /// The first bytes of messages of rounds that have ended, newest last.
    retired: VecDeque<u32>,
}

impl<B: Connection<Data = Buf>> Shared<B> {
    pub(super) fn new(base: B, own_id: u64, agent: Sender<Standing>) -> Arc<Self> {
        base.base().reserve(GROUP_HEADER);
        let lanes = Lanes { open: Vec::new(), strays: VecDeque::new(), retired: VecDeque::new() };
        Arc::new(Self {
            base,
            own_id: AtomicU64::new(own_id),
            liveness: Liveness::default(),
            dropped: AtomicU64::new(0),
            lanes: Mutex::new(lanes),
            agent,
        })
    }

    fn lanes(&self) -> MutexGuard<'_, Lanes> {
        self.lanes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins to keep messages of a round.
    pub(super) fn begin(self: &Arc<Self>, id: RoundId, from_start: bool, is_aside: bool) -> GroupLink<B> {
        let lane = Arc::new(GroupLane::new(id, from_start, is_aside));
        let mut lanes = self.lanes();
        lanes.retired.retain(|header| *header != lane.lane.header);
        lanes.open.retain(|other| other.lane.header != lane.lane.header);
        lanes.open.push(lane.clone());
        let strays = std::mem::take(&mut lanes.strays);
        drop(lanes);
        strays.into_iter().for_each(|stray| drop(self.sort(stray)));
        GroupLink { shared: self.clone(), lane }
    }

    /// Ends a round: what still arrives of it is dropped and counted.
    pub(super) fn forget(&self, lane: &Arc<GroupLane>) {
        let mut lanes = self.lanes();
        lanes.open.retain(|other| !Arc::ptr_eq(other, lane));
        if lanes.retired.len() >= RETIRED {
            lanes.retired.pop_front();
        }
        lanes.retired.push_back(lane.lane.header);
    }

    /// The same, for a round that never came into use.
    pub(super) fn forget_round(&self, id: RoundId) {
        let lane = self.lanes().open.iter().find(|lane| lane.id == id).cloned();
        if let Some(lane) = lane {
            self.forget(&lane);
        }
    }

    /// From now on the reader of `to` reads the base, and no longer that of `from`.
    pub(super) fn read_through(&self, from: &GroupLane, to: &GroupLane) {
        from.lane.set_aside(true);
        to.lane.set_aside(false);
        self.liveness.wake();
    }

    /// Keeps a message for the reader of its round. What is for nobody's reader is returned.
    fn sort(&self, mut message: Buf) -> Option<Buf> {
        let mut lanes = self.lanes();
        for lane in &lanes.open {
            match lane.open(&mut message) {
                Sorting::Ours => {
                    let kept = lane.lane.put(message, false).is_ok();
                    drop(lanes);
                    self.liveness.wake();
                    self.count_dropped(!kept);
                    return None;
                }
                Sorting::Bad => {
                    drop(lanes);
                    self.count_dropped(true);
                    return None;
                }
                Sorting::Other => {}
            }
        }
        let header = message.first_chunk().map(|header| u32::from_le_bytes(*header));
        let is_data = matches!(wire::header(&message), Some((Kind::GroupData, _)));
        if !is_data {
            return Some(message);
        }
        if header.is_some_and(|header| lanes.retired.contains(&header)) {
            drop(lanes);
            self.count_dropped(true);
            return None;
        }
        let is_full = lanes.strays.len() >= STRAYS;
        if is_full {
            lanes.strays.pop_front();
        }
        lanes.strays.push_back(message);
        drop(lanes);
        self.count_dropped(is_full);
        None
    }

    /// Deals with a message that is not of a reader's own round.
    #[cold]
    fn deal_with(&self, message: Buf) {
        let Some(message) = self.sort(message) else { return };
        let standing = match wire::header(&message) {
            Some((Kind::Standing, _)) => wire::decode::<Standing>(&message).ok(),
            _ => None,
        };
        match standing {
            // One that finds no room is said again.
            Some(standing) => self.count_dropped(self.agent.try_send(standing).is_err()),
            None => self.count_dropped(true),
        }
    }

    fn count_dropped(&self, is_dropped: bool) {
        if is_dropped {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Tells all others. A failure is not reported: what matters is said again.
    pub(super) async fn say(&self, standing: &Standing) {
        let tag = Tag::of_round(standing.life, standing.round);
        if let Ok(bytes) = wire::encode(Kind::Standing, tag, standing)
            && let Ok(message) = Buf::copy_of(&bytes, 0)
        {
            let _ = self.base.send(message).await;
        }
    }

    async fn read_one(&self) -> Result<(), Error> {
        self.liveness.check()?;
        // A lane that nothing is put into, whose news would interrupt the reception.
        let nobody = EpochQueue::among([0; wire::HEADER], true);
        let reception = pin!(self.base.recv());
        if let Some(message) = Parked::new(&self.liveness, &nobody, nobody.state(), reception).await? {
            self.deal_with(message);
        }
        Ok(())
    }
}

impl<B: Connection<Data = Buf>> Meanwhile for Shared<B> {
    fn runtime(&self) -> &impl Runtime {
        self.base.base().runtime()
    }

    fn read_for_others(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.read_one()
    }
}

impl<B: Connection<Data = Buf>> GroupLink<B> {
    /// The same link, for whoever does not send or receive over it.
    pub(super) fn again(&self) -> Self {
        Self { shared: self.shared.clone(), lane: self.lane.clone() }
    }

    pub(super) fn parts(&self) -> (Arc<Shared<B>>, Arc<GroupLane>) {
        (self.shared.clone(), self.lane.clone())
    }

    fn own_id(&self) -> u64 {
        self.shared.own_id.load(Ordering::Relaxed)
    }

    /// Waits as long as others could not keep what this end would send.
    #[cold]
    async fn until_there_is_room(&self) -> Result<(), Error> {
        let has_none = || self.lane.room() == Some(0);
        while has_none() {
            let lane = &self.lane.lane;
            Parked::aside(&self.shared.liveness, lane, lane.state(), has_none).await?;
        }
        Ok(())
    }

    /// The next message that another reader has read, in this state of the lane. Without one, waits as long as that one reads.
    #[cold]
    async fn look(&self, state: u8) -> Result<Option<Buf>, Error> {
        let lane = &self.lane.lane;
        if let Some((message, _)) = lane.take() {
            return Ok(Some(message));
        }
        if EpochQueue::is_over(state) {
            return Err(Error::new(ErrorKind::Closed, "the round is over").at("rendezvous"));
        }
        if EpochQueue::is_aside(state) {
            Parked::aside(&self.shared.liveness, lane, state, || true).await?;
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
        self.shared.liveness.check()?;
        if self.lane.room() == Some(0) {
            self.until_there_is_room().await?;
        }
        self.shared.base.send(self.lane.seal(message, self.own_id())?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        let shared = &*self.shared;
        loop {
            shared.liveness.check()?;
            let state = self.lane.lane.state();
            if state != 0 {
                match self.look(state).await? {
                    Some(message) => return Ok(message),
                    None if EpochQueue::is_aside(state) => continue,
                    None => {}
                }
            }
            let reception = pin!(shared.base.recv());
            let reception = Parked::new(&shared.liveness, &self.lane.lane, state, reception);
            let Some(mut message) = reception.await? else { continue };
            match self.lane.open(&mut message) {
                Sorting::Ours => return Ok(message),
                Sorting::Bad => shared.count_dropped(true),
                Sorting::Other => shared.deal_with(message),
            }
        }
    }

    async fn send_batch(&self, mut messages: impl Iterator<Item = Buf> + Send) -> Result<(), Error> {
        loop {
            self.shared.liveness.check()?;
            let mut room = self.lane.room().unwrap_or(u32::MAX);
            if room == 0 {
                self.until_there_is_room().await?;
                continue;
            }
            let mut done = None;
            let sealed = std::iter::from_fn(|| {
                room = room.checked_sub(1)?;
                match messages.next().map(|message| self.lane.seal(message, self.own_id())) {
                    Some(Ok(message)) => return Some(message),
                    Some(Err(error)) => done = Some(Err(error)),
                    None => done = Some(Ok(())),
                }
                None
            });
            self.shared.base.send_batch(sealed).await?;
            // Else there may be more than there was room for.
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
            shared.liveness.check()?;
            let state = self.lane.lane.state();
            if state != 0 {
                match self.look(state).await? {
                    Some(message) => {
                        into.extend([message]);
                        return Ok(1);
                    }
                    None if EpochQueue::is_aside(state) => continue,
                    None => {}
                }
            }
            let mut sorter = Sorter { link: self, into, data: 0 };
            {
                let reception = pin!(shared.base.recv_batch(&mut sorter, limit));
                Parked::new(&shared.liveness, &self.lane.lane, state, reception).await?;
            }
            if sorter.data > 0 {
                return Ok(sorter.data);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.shared.base.drain()
    }

    /// Does nothing: a round's end is not the connection's.
    async fn close(&self) -> Result<(), Error> {
        Ok(())
    }
}

/// Hands this round's messages of a burst on, and the others to whom they are for.
struct Sorter<'a, B: Connection<Data = Buf>, I> {
    link: &'a GroupLink<B>,
    into: &'a mut I,
    data: usize,
}

impl<B: Connection<Data = Buf>, I: Extend<Buf>> Extend<Buf> for Sorter<'_, B, I> {
    fn extend<M: IntoIterator<Item = Buf>>(&mut self, messages: M) {
        for mut message in messages {
            match self.link.lane.open(&mut message) {
                Sorting::Ours => {
                    self.data += 1;
                    self.into.extend([message]);
                }
                Sorting::Bad => self.link.shared.count_dropped(true),
                Sorting::Other => self.link.shared.deal_with(message),
            }
        }
    }
}

impl<B: Connection<Data = Buf>> fmt::Debug for GroupLink<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GroupLink").field("round", &self.lane.id).finish_non_exhaustive()
    }
}
