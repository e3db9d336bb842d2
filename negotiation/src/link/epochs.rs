//! Several stacks over one base, one after the other: the state that the epochs of a link share.

use super::connection::{Parked, strip};
use super::{EpochQueue, Link, Shared};
use crate::auth::Proof;
use crate::handshake::CurrentAgreement;
use crate::handshake::Requirements;
use crate::wire::{Close, Kind, Tag, Upgrade, UpgradeStep, header, parted};
use crate::{Agreement, Settings};
use bertha_core::{Base, Buf, Connection, Connector, Error, Role, SecuredCell};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::{Context, Poll};
use tokio::sync::mpsc::Sender;

/// The maximum number of epochs at once: the one in force, the one before, and one that is being built.
const QUEUES: usize = 4;

/// The state of a connection that can change its stack.
pub(crate) struct Epochs<C: Connection<Data = Buf>> {
    queues: Mutex<Vec<Arc<EpochQueue>>>,
    /// Where the peer's wishes and answers go.
    agent: Mutex<Option<Sender<Received>>>,
    /// Opens further connections for the Chunnels of a later epoch.
    connector: Mutex<Option<Arc<dyn Connector<Link<C>>>>>,
    /// The agreement in force.
    current_agreement: OnceLock<Arc<CurrentAgreement>>,
    /// The peer's end, while messages wait that came before it.
    close_message: Mutex<Option<Close>>,
}

impl<C: Connection<Data = Buf>> Default for Epochs<C> {
    fn default() -> Self {
        Self {
            queues: Mutex::default(),
            agent: Mutex::default(),
            connector: Mutex::default(),
            current_agreement: OnceLock::new(),
            close_message: Mutex::default(),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A message of the peer about a change of stacks.
pub(crate) struct Received {
    pub(crate) upgrade: Upgrade,
    proof: Proof,
}

/// Makes the links of later epochs of a connection.
pub(crate) struct Fork<C: Connection<Data = Buf>> {
    pub(super) first: Arc<EpochQueue>,
    pub(crate) shared: Arc<Shared<C>>,
}

impl<C: Connection<Data = Buf>> Link<C> {
    /// Prepares for later epochs; `agent` receives the peer's messages about them.
    pub(crate) fn fork(&self, agent: Sender<Received>) -> Fork<C> {
        *lock(&self.shared.epochs.agent) = Some(agent);
        lock(&self.shared.epochs.queues).push(self.queue.clone());
        Fork { first: self.queue.clone(), shared: self.shared.clone() }
    }

    /// Keeps the driver's part of later epochs: the agreement in force, and the way in which Chunnels open further
    /// connections.
    pub(crate) fn stand(
        &self,
        current_agreement: Arc<CurrentAgreement>,
        connector: Arc<dyn Connector<Link<C>>>,
    ) {
        let _ = self.shared.epochs.current_agreement.set(current_agreement);
        *lock(&self.shared.epochs.connector) = Some(connector);
    }
}

impl<C: Connection<Data = Buf>> Fork<C> {
    /// The queue of the epoch that the connection began with.
    pub(crate) fn first(&self) -> Arc<EpochQueue> {
        self.first.clone()
    }

    /// The link of a later epoch. Until its [queue reads](Shared::read_through), another epoch's reader reads for it.
    pub(crate) fn link(&self, round: u64) -> (Link<C>, Arc<EpochQueue>) {
        let queue = Arc::new(EpochQueue::later(Tag::of(self.shared.id), round));
        let mut queues = lock(&self.shared.epochs.queues);
        queues.retain(|other| other.header != queue.header);
        if queues.len() == QUEUES {
            queues.remove(0);
        }
        queues.push(queue.clone());
        let link = Link { shared: self.shared.clone(), queue: queue.clone() };
        (link, queue)
    }
}

impl<C: Connection<Data = Buf>> Shared<C> {
    pub(crate) fn opener(&self) -> Option<Arc<dyn Connector<Link<C>>>> {
        lock(&self.epochs.connector).clone()
    }

    pub(crate) fn agreement(&self) -> Option<Arc<Agreement>> {
        self.epochs.current_agreement.get().map(|current_agreement| current_agreement.get())
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

    /// The guarantees required of this end's stack, and those of the transport.
    pub(crate) fn requirements(&self) -> Requirements {
        Requirements::new(self.settings.floor, self.base.base().properties())
    }

    /// An error once the link has ended.
    pub(crate) fn check(&self) -> Result<(), Error> {
        self.liveness.check()
    }

    /// Ready once it has.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<Error> {
        self.liveness.poll_ended(context)
    }

    /// Whether a reception waits for messages.
    pub(crate) fn is_awaited(&self) -> bool {
        self.liveness.is_awaited()
    }

    /// From now on the reader of `to` reads the base, and no longer that of `from`.
    pub(crate) fn read_through(&self, from: &EpochQueue, to: &EpochQueue) {
        from.set_aside(true);
        to.set_aside(false);
        self.liveness.wake();
    }

    /// Forgets an epoch: its messages that still arrive are dropped and counted.
    pub(crate) fn forget(&self, queue: &Arc<EpochQueue>) {
        queue.forget();
        self.session().unstage(place(queue));
        lock(&self.epochs.queues).retain(|other| !Arc::ptr_eq(other, queue));
    }

    /// Keeps the peer's end for later if messages wait that another reader has read before; else gives it back.
    pub(super) fn put_off(&self, close: Close) -> Option<Close> {
        let queues = lock(&self.epochs.queues);
        if !queues.iter().any(|queue| queue.is_queued()) {
            return Some(close);
        }
        *lock(&self.epochs.close_message) = Some(close);
        queues.iter().for_each(|queue| queue.part());
        drop(queues);
        self.liveness.wake();
        None
    }

    /// The end that was put off, if it comes next for a reader that has received all of `queue`; not while messages of
    /// later epochs wait.
    pub(super) fn close_after(&self, queue: &Arc<EpochQueue>) -> Option<Close> {
        let queues = lock(&self.epochs.queues);
        let mut later = queues.iter().rev().take_while(|other| !Arc::ptr_eq(other, queue));
        if later.any(|queue| queue.is_queued()) { None } else { lock(&self.epochs.close_message).take() }
    }

    /// Reads one message for any of the epochs, unless the peer has closed. Only while no epoch's reader reads.
    /// Cancellation-safe.
    pub(crate) async fn read_one_for_others(&self) -> Result<(), Error> {
        self.liveness.check()?;
        if lock(&self.epochs.close_message).is_some() {
            return Err(poll_fn(|context| self.poll_ended(context)).await);
        }
        // No queue of its own whose news would interrupt it.
        let queue = EpochQueue::later(Tag::of(self.id), 0);
        let reception = pin!(self.base.recv());
        let reception = Parked::new(&self.liveness, &queue, queue.state(), reception);
        let received = reception.await.map_err(|error| self.not_received(error))?;
        let Some(message) = received else { return Ok(()) };
        self.credit_for(&message);
        self.deal_with(None, [message]).await;
        Ok(())
    }

    /// Deals with messages that are not for the reader that has read them: first keeps all data, of other epochs or of
    /// its own queue behind an answer, since this may be cancelled after that.
    #[cold]
    pub(super) async fn deal_with(
        &self,
        own: Option<&Arc<EpochQueue>>,
        messages: impl IntoIterator<Item = Buf>,
    ) {
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

    /// Hands data of an epoch to its queue: one of the existing ones, or the reader's `own`.
    fn sort(&self, own: Option<&Arc<EpochQueue>>, mut message: Buf) -> Sorted {
        let queue = lock(&self.epochs.queues)
            .iter()
            .chain(own)
            .find(|queue| strip(&mut message, queue.header))
            .cloned();
        let Some(queue) = queue else { return Sorted::Control(message) };
        let is_reliable = self.base.base().properties().reliable;
        match queue.put(message, is_reliable) {
            Ok(()) => {
                self.liveness.wake();
                Sorted::Kept(queue)
            }
            Err(_) => {
                self.count_dropped();
                Sorted::Dropped
            }
        }
    }

    /// Waits until there is room in a queue, and so keeps its reader from reading more, over a base that keeps what is not
    /// read. Cancellation-safe.
    async fn room(&self, queue: &EpochQueue) {
        if !self.base.base().properties().reliable {
            return;
        }
        while queue.is_full() && !queue.is_forgotten() {
            let state = queue.state();
            let full = || queue.is_full() && !queue.is_forgotten();
            if Parked::aside(&self.liveness, queue, state, full).await.is_err() {
                return;
            }
        }
    }

    /// Hands over the peer's message about a change of stacks.
    pub(super) async fn peer_upgrades(&self, message: &[u8]) {
        match self.session().decode_with_proof::<Upgrade>(message) {
            Ok((upgrade, proof)) if upgrade.id == self.id => {
                self.liveness.arrived();
                let agent = lock(&self.epochs.agent).clone();
                match agent {
                    // A full queue means a peer that repeats itself, and it will do so again.
                    Some(agent) => drop(agent.try_send(Received { upgrade, proof })),
                    None if matches!(upgrade.step, UpgradeStep::Propose { .. }) => {
                        let text = "the stack of the other end can't be changed; it is not `upgradable()`";
                        let (round, next) = (upgrade.round, 0);
                        let step = UpgradeStep::Decline { next, text: text.into() };
                        self.say_upgrade(&Upgrade { id: self.id, round, step }).await;
                    }
                    None => self.count_dropped(),
                }
            }
            _ => self.count_dropped(),
        }
    }

    /// Whether a message that was received a while ago counts: none does that the connection's first stack, which was not ready then,
    /// would have had proved. The peer repeats it.
    pub(crate) fn is_valid_still(&self, received: &Received) -> bool {
        let is_valid = received.proof == Proof::Chunnel || !self.session().is_secured();
        if !is_valid {
            self.session().add_forged(1);
        }
        is_valid
    }

    /// A stack for `queue` is being built, whose secure Chunnel reports to the result.
    pub(crate) fn stage_secured(&self, queue: &EpochQueue) -> SecuredCell {
        let cell = SecuredCell::default();
        // Before there is an answer, nothing is agreed to that it could protect.
        if let Some(session) = self.session.get() {
            session.stage(place(queue), cell.clone());
        }
        cell
    }

    /// The staged stack is used from now on.
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

/// The name of an epoch's stack among those that are there at once.
fn place(queue: &EpochQueue) -> u64 {
    queue.header
}

fn is_confirm(message: &[u8]) -> bool {
    matches!(header(message), Some((Kind::Confirm, _)))
}

/// The fate of a message.
enum Sorted {
    Control(Buf),
    Kept(Arc<EpochQueue>),
    Dropped,
}
