//! Several stacks over one base, one after the other: the state that the epochs of a link share.

use super::connection::strip;
use super::{EpochQueue, Link, LinkShared, Parked};
use crate::auth::Proof;
use crate::handshake::CurrentAgreement;
use crate::handshake::Requirements;
use crate::wire::{Close, Kind, Tag, Upgrade, UpgradeStep, header, split_joined};
use crate::{Agreement, Settings};
use bertha_core::statistics::Observed;
use bertha_core::{Base, Buf, Connection, Connector, Error, ErrorKind, Role, SecuredCell};
use parking_lot::Mutex;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use tokio::sync::mpsc::Sender;

/// Maximum number of epochs at once: the current epoch, the epoch before, the epoch that is being built, and
/// a spare. A further epoch takes the place of the oldest.
const MAX_QUEUES: usize = 4;

/// The state of a connection that can change its stack.
pub(crate) struct Epochs<C: Connection<Data = Buf>> {
    queues: Mutex<Vec<Arc<EpochQueue>>>,
    /// Takes the peer's messages about a change of stacks.
    upgrades: Mutex<Option<Sender<Received>>>,
    /// Opens further connections for the Chunnels of a later epoch.
    connector: Mutex<Option<Arc<dyn Connector<Link<C>>>>>,
    /// The current agreement.
    current_agreement: OnceLock<Arc<CurrentAgreement>>,
    /// The close of the peer, while messages wait that came before it.
    close_message: Mutex<Option<Close>>,
}

impl<C: Connection<Data = Buf>> Default for Epochs<C> {
    fn default() -> Self {
        Self {
            queues: Mutex::default(),
            upgrades: Mutex::default(),
            connector: Mutex::default(),
            current_agreement: OnceLock::new(),
            close_message: Mutex::default(),
        }
    }
}

/// A message of the peer about a change of stacks.
pub(crate) struct Received {
    pub(crate) upgrade: Upgrade,
    proof: Proof,
}

/// Makes the links of later epochs of a connection.
pub(crate) struct Fork<C: Connection<Data = Buf>> {
    pub(super) first: Arc<EpochQueue>,
    pub(crate) shared: Arc<LinkShared<C>>,
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Prepares for later epochs. `upgrades` takes the peer's messages about them.
    pub(crate) fn fork(&self, upgrades: Sender<Received>) -> Fork<C> {
        *self.shared.epochs.upgrades.lock() = Some(upgrades);
        self.shared.epochs.queues.lock().push(self.queue.clone());
        Fork { first: self.queue.clone(), shared: self.shared.clone() }
    }

    /// Keeps the parts that later epochs need: the current agreement, and the connector by which Chunnels
    /// open further connections.
    pub(crate) fn stand(
        &self,
        current_agreement: Arc<CurrentAgreement>,
        connector: Arc<dyn Connector<Link<C>>>,
    ) {
        let link: Arc<dyn Observed> = self.shared.clone();
        current_agreement.get().session().registry().add(Arc::downgrade(&link));
        let _ = self.shared.epochs.current_agreement.set(current_agreement);
        *self.shared.epochs.connector.lock() = Some(connector);
    }
}

impl<C: Connection<Data = Buf>> Fork<C> {
    /// Returns the queue of the epoch with which the connection began.
    pub(crate) fn first(&self) -> Arc<EpochQueue> {
        self.first.clone()
    }

    /// Returns the link of a later epoch. Until its [queue reads](Shared::read_through), another epoch's
    /// reader reads for it.
    pub(crate) fn link(&self, round: u64) -> (Link<C>, Arc<EpochQueue>) {
        let queue = Arc::new(EpochQueue::later(Tag::of(self.shared.id), round));
        let mut queues = self.shared.epochs.queues.lock();
        queues.retain(|other| other.header != queue.header);
        if queues.len() == MAX_QUEUES {
            queues.remove(0);
        }
        queues.push(queue.clone());
        let shared = self.shared.clone();
        let link = Link { base: shared.base.clone(), shared, queue: queue.clone(), route: None };
        (link, queue)
    }
}

impl<C: Connection<Data = Buf>> LinkShared<C> {
    pub(crate) fn connector(&self) -> Option<Arc<dyn Connector<Link<C>>>> {
        self.epochs.connector.lock().clone()
    }

    pub(crate) fn agreement(&self) -> Option<Arc<Agreement>> {
        self.epochs.current_agreement.get().map(|current_agreement| current_agreement.get())
    }

    /// Returns true while a change of the stack is under way.
    pub(super) fn is_changing(&self) -> bool {
        self.epochs.queues.lock().len() > 1
    }

    pub(crate) fn agree(&self, agreement: Agreement) {
        if let Some(current_agreement) = self.epochs.current_agreement.get() {
            current_agreement.set(agreement);
        }
    }

    pub(crate) fn base(&self) -> &C::Base {
        self.base.base()
    }

    pub(crate) fn id(&self) -> u64 {
        self.id
    }

    pub(crate) fn role(&self) -> Role {
        self.role
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Returns the guarantees required of this end's stack, and the guarantees of the transport.
    pub(crate) fn requirements(&self) -> Requirements {
        Requirements::new(self.settings.floor, self.base.base().properties())
    }

    /// Checks that the link is usable.
    ///
    /// # Errors
    /// The reason why the link has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.lifecycle.check()
    }

    /// Ready once the link has ended.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<Error> {
        self.lifecycle.poll_ended(context)
    }

    /// Returns true if the peer has closed, and the close waits until the messages before it are received.
    pub(crate) fn is_ending(&self) -> bool {
        self.epochs.close_message.lock().is_some()
    }

    /// Ready once the link has ended or [is ending](Self::is_ending).
    pub(crate) fn poll_ending(&self, context: &mut Context<'_>) -> Poll<()> {
        let has_ended = self.poll_ended(context).is_ready();
        // The close is looked for after the task was registered, which it wakes.
        if has_ended || self.is_ending() { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Returns true if a `recv` is parked.
    pub(crate) fn has_parked_recv(&self) -> bool {
        self.lifecycle.has_parked_recv()
    }

    /// Makes the reader of `to` read the base, in place of the reader of `from`.
    pub(crate) fn read_through(&self, from: &EpochQueue, to: &EpochQueue) {
        from.set_not_reader(true);
        to.set_not_reader(false);
        self.lifecycle.wake();
    }

    /// Ends the receptions of an epoch behind the messages in its queue: the peer has closed.
    pub(crate) fn finish(&self, queue: &EpochQueue) {
        queue.end();
        self.lifecycle.wake();
    }

    /// Ends an epoch: messages of it that still arrive are dropped and counted.
    pub(crate) fn forget(&self, queue: &Arc<EpochQueue>) {
        queue.forget();
        self.session().unstage(place(queue));
        self.epochs.queues.lock().retain(|other| !Arc::ptr_eq(other, queue));
        // A close may have waited for the messages of the epoch, or a reader for room.
        self.lifecycle.wake();
    }

    /// Keeps the peer's close for later, if messages wait that a reader has read before the close. Otherwise
    /// returns the close.
    pub(super) fn keep_close(&self, close: Close) -> Option<Close> {
        let queues = self.epochs.queues.lock();
        if !queues.iter().any(|queue| queue.is_queued()) {
            return Some(close);
        }
        *self.epochs.close_message.lock() = Some(close);
        queues.iter().for_each(|queue| queue.peer_closed());
        drop(queues);
        self.lifecycle.wake();
        None
    }

    /// Returns the close that was kept, if it comes next for a reader that has received all of `queue`.
    pub(super) fn close_after(&self, queue: &Arc<EpochQueue>) -> Option<Close> {
        if self.is_close_next(queue) { self.epochs.close_message.lock().clone() } else { None }
    }

    /// Returns true if no message comes before the close for a reader that has received all of `queue`.
    /// Messages of later epochs come before the close.
    pub(super) fn is_close_next(&self, queue: &Arc<EpochQueue>) -> bool {
        let queues = self.epochs.queues.lock();
        let mut later = queues.iter().rev().take_while(|other| !Arc::ptr_eq(other, queue));
        !later.any(|queue| queue.is_queued())
    }

    /// Returns the error of a reader behind the last message of an epoch after which another epoch is read.
    #[cold]
    pub(super) fn end_of_epoch(&self) -> Error {
        let is_closed =
            self.epochs.close_message.lock().as_ref().is_none_or(|close| close.failure.is_empty());
        let (kind, what) = match is_closed {
            true => (ErrorKind::Closed, "the peer has closed the connection"),
            false => (ErrorKind::Reset, "the peer has left the connection without closing it"),
        };
        self.lifecycle
            .check()
            .err()
            .unwrap_or_else(|| Error::new(kind, what).at("negotiation").ending_connection())
    }

    /// Reads one message for any of the epochs, unless the peer has closed. It may run only while no epoch's
    /// reader reads. Cancellation-safe.
    pub(crate) async fn read_one_for_others(&self) -> Result<(), Error> {
        self.lifecycle.check()?;
        if self.epochs.close_message.lock().is_some() {
            return Err(poll_fn(|context| self.poll_ended(context)).await);
        }
        // An unused queue, whose news never interrupt the reception.
        let queue = EpochQueue::later(Tag::of(self.id), 0);
        let reception = pin!(self.base.recv());
        let reception = Parked::new(&self.lifecycle, &queue, queue.state(), reception);
        let received = reception.await.map_err(|error| self.not_received(error))?;
        let Some(message) = received else { return Ok(()) };
        self.count_received(&message);
        self.deal_with(None, [message]).await;
        Ok(())
    }

    /// Handles messages that are not data for the reader that has read them. It first keeps all data, of
    /// other epochs or of the reader's own epoch behind an answer, since it may be cancelled after that.
    #[cold]
    pub(super) async fn deal_with(
        &self,
        own: Option<&Arc<EpochQueue>>,
        messages: impl IntoIterator<Item = Buf>,
    ) {
        let parts = messages.into_iter().map(split_joined).flat_map(|(first, behind)| [Some(first), behind]);
        let mut sorted: Vec<_> = parts.flatten().map(|message| self.sort(own, message)).collect();
        // A confirmation may end this link, which would drop the data behind it as data of another
        // connection.
        sorted.sort_by_key(|message| matches!(message, Sorted::Control(it) if is_confirm(it)));
        for message in sorted {
            match message {
                Sorted::Control(message) => self.control(message).await,
                Sorted::Kept(queue) => {
                    self.lifecycle.arrived();
                    self.room(&queue).await;
                }
                Sorted::Dropped => {}
            }
        }
    }

    /// Puts data of an epoch into the epoch's queue, which is a queue of the link or the reader's `own`
    /// queue.
    fn sort(&self, own: Option<&Arc<EpochQueue>>, mut message: Buf) -> Sorted {
        let queue = self
            .epochs
            .queues
            .lock()
            .iter()
            .chain(own)
            .find(|queue| strip(&mut message, queue.header))
            .cloned();
        let Some(queue) = queue else { return Sorted::Control(message) };
        let is_reliable = self.base.base().properties().reliable;
        match queue.put(message, is_reliable) {
            Ok(()) => {
                self.lifecycle.wake();
                Sorted::Kept(queue)
            }
            Err(_) => {
                self.count_dropped();
                Sorted::Dropped
            }
        }
    }

    /// Waits until there is room in a queue, over a base that keeps unread messages. So its reader reads no
    /// further messages meanwhile. Cancellation-safe.
    async fn room(&self, queue: &EpochQueue) {
        if !self.base.base().properties().reliable {
            return;
        }
        while queue.is_full() && !queue.is_forgotten() {
            let state = queue.state();
            let full = || queue.is_full() && !queue.is_forgotten();
            if Parked::not_reader(&self.lifecycle, queue, state, full).await.is_err() {
                return;
            }
        }
    }

    /// Hands over the peer's message about a change of stacks.
    pub(super) async fn peer_upgrades(&self, message: &[u8]) {
        match self.session().decode_with_proof::<Upgrade>(message) {
            Ok((upgrade, proof)) if upgrade.id == self.id => {
                self.lifecycle.arrived();
                let upgrades = self.epochs.upgrades.lock().clone();
                match upgrades {
                    // A full queue means a peer that repeats itself, and it will do so again.
                    Some(upgrades) => drop(upgrades.try_send(Received { upgrade, proof })),
                    None if matches!(upgrade.step, UpgradeStep::Propose { .. }) => {
                        let text = "the stack of the other end can't be changed; it is not `upgradable()`";
                        let round = upgrade.round;
                        let next = 0;
                        let step = UpgradeStep::Decline { next, text: text.into() };
                        self.say_upgrade(&Upgrade { id: self.id, round, step }).await;
                    }
                    None => self.count_dropped(),
                }
            }
            _ => self.count_dropped(),
        }
    }

    /// Returns true if a message that was received a while ago still counts. A message without the proof that
    /// the connection's stack demands by now does not count, and the peer repeats it.
    pub(crate) fn is_valid_still(&self, received: &Received) -> bool {
        let is_valid = received.proof == Proof::Chunnel || !self.session().is_secured();
        if !is_valid {
            self.session().add_forged(1);
        }
        is_valid
    }

    /// Returns the cell to which the secure Chunnel of a stack for `queue` reports while the stack is being
    /// built.
    pub(crate) fn stage_secured(&self, queue: &EpochQueue) -> SecuredCell {
        let cell = SecuredCell::default();
        // Before the answer there is no agreement that the Chunnel could protect.
        if let Some(session) = self.session.get() {
            session.stage(place(queue), cell.clone());
        }
        cell
    }

    /// Records that the staged stack is used from now on.
    pub(crate) fn commit_secured(&self) {
        if let Some(session) = self.session.get() {
            session.commit();
        }
    }

    pub(crate) async fn say_upgrade(&self, upgrade: &Upgrade) {
        if let Some(message) = self.session().encode(Kind::Upgrade, Tag::of(self.id), upgrade) {
            self.send_bytes(&message).await;
        }
    }
}

/// Returns the name of an epoch's stack among the stacks of the link.
fn place(queue: &EpochQueue) -> u64 {
    queue.header
}

fn is_confirm(message: &[u8]) -> bool {
    matches!(header(message), Some((Kind::Confirm, _)))
}

/// A message by its further handling.
enum Sorted {
    Control(Buf),
    Kept(Arc<EpochQueue>),
    Dropped,
}
