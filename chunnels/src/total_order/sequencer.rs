//! One order for all messages, decided by one participant.

use super::Limits;
use super::arrivals::Arrivals;
use super::frame::{Frame, HEADER, Placed};
use super::reception::{Reorders, extend, progress};
use crate::burst::send_encoded;
use bertha_core::statistics::Observed;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
    Statistics, debug_fields, forward,
};
use futures_util::future::{Either, select};
use parking_lot::{MappedMutexGuard, Mutex, MutexGuard};
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// The time for which draining waits for progress of the sequencer.
const DRAIN_TIMEOUT: Duration = Duration::from_secs(1);

/// Sends messages to the participant that leads the round, which sends them to all participants in one order.
/// On a connection with two ends the server leads. See the [module](crate::total_order).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Identity)]
pub struct SequencerOrdered {
    limits: Limits,
}

impl SequencerOrdered {
    /// Makes a Chunnel that waits 50 ms for a missing message, and buffers up to 4,096 early messages.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the gap time-out, after which a missing message is skipped.
    #[must_use]
    pub fn gap_timeout(mut self, timeout: Duration) -> Self {
        self.limits.gap_timeout = timeout;
        self
    }

    /// Sets the number of early messages that are buffered, at least one.
    #[must_use]
    pub fn capacity(mut self, messages: usize) -> Self {
        self.limits.capacity = messages.max(1);
        self
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for SequencerOrdered {
    type Connection = SequencerOrderedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        // A message that is delivered again would come out of the order.
        inner.base().properties().refuse_receipts("SequencerOrdered")?;
        inner.base().reserve(HEADER);
        let dropped = context.counts_drops("SequencerOrdered", "repeated, late or malformed");
        let leads = matches!(context.role(), Role::Server | Role::Participant { leads: true });
        let sender = inner.base().runtime().random();
        let state = SequencerState {
            arrivals: Arrivals::new(self.limits, dropped),
            next_place: 0,
            ordered: 0,
            leads,
        };
        let state = Arc::new(SharedSequencer(Mutex::new(state)));
        context.observes(&state);
        Ok(SequencerOrderedConnection {
            inner,
            sender,
            next: AtomicU64::new(0),
            leads,
            state,
            turn: tokio::sync::Mutex::new(()),
            ready: Notify::new(),
            progress: Notify::new(),
        })
    }
}

/// The connection of [`SequencerOrdered`] over a connection that carries bytes.
///
/// `send` is ready when the message is on its way to the sequencer, which orders it while its own application
/// receives. [`drain`](Connection::drain) waits until the sequencer has ordered all messages of this end, or
/// has made no progress for a second. Several `recv`s of the sequencer at once take turns. Errors and
/// backpressure are those of the connection below.
pub struct SequencerOrderedConnection<Inner> {
    inner: Inner,
    /// A random number that distinguishes this sender from all other senders.
    sender: u64,
    /// The number of the next message that this end sends.
    next: AtomicU64,
    leads: bool,
    state: Arc<SharedSequencer>,
    /// Held by the `recv` of the sequencer that passes a message on.
    turn: tokio::sync::Mutex<()>,
    /// Notified when another `recv`, whose future may be dropped, left a message to deliver or a new deadline.
    ready: Notify,
    /// Notified when a message of this end was ordered.
    progress: Notify,
}

/// A message that was numbered and not sent. When the value is dropped, it wakes another `recv` to send the
/// message.
struct Unsent<'a>(&'a Notify);

impl Drop for Unsent<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

struct SequencerState {
    /// At the sequencer the messages to order, elsewhere the ordered messages.
    arrivals: Arrivals<Frame>,
    /// At the sequencer, the position of the next message.
    next_place: u64,
    /// The number of this end's messages that are known to be ordered.
    ordered: u64,
    leads: bool,
}

/// The state of a connection. Locked for one message at a time, never across an await.
struct SharedSequencer(Mutex<SequencerState>);

impl Observed for SharedSequencer {
    fn observe(&self, into: &mut Statistics) {
        let state = self.0.lock();
        let statistics = state.arrivals.statistics(state.leads);
        drop(state);
        into.add("SequencerOrdered", statistics);
    }
}

impl<Inner: Connection<Data = Buf>> SequencerOrderedConnection<Inner> {
    /// Returns true if this end is the sequencer.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// Returns the number of messages that were dropped: duplicates, messages that arrived after they were
    /// skipped, and malformed messages.
    pub fn dropped(&self) -> u64 {
        self.state.0.lock().arrivals.dropped.get()
    }

    /// Writes the header in front of a message.
    fn encode(&self, mut message: Buf, placed: Placed) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        message.prepend(HEADER)?.copy_from_slice(&placed.to_bytes());
        Ok(message)
    }

    /// Numbers a message of this end, and positions it if this end is the sequencer.
    fn number(&self, message: Buf) -> Result<Buf, Error> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = self.leads.then(|| self.take_place());
        self.encode(message, Placed { sender: self.sender, number, place })
    }

    fn take_place(&self) -> u64 {
        let mut state = self.state.0.lock();
        state.next_place += 1;
        state.next_place - 1
    }

    /// Returns the next message to deliver that is not this end's own message.
    fn pop(&self) -> Option<Frame> {
        let mut state = self.state.0.lock();
        let taken =
            std::iter::from_fn(|| state.arrivals.pop()).find(|frame| frame.placed.sender != self.sender);
        if state.arrivals.has_ready() {
            self.ready.notify_one();
        }
        taken
    }

    /// Returns the sequencer's next message, once it is on its way to all other participants. If the future
    /// is dropped, the next call sends the message again, and the other participants drop the duplicate.
    async fn place_next(&self) -> Result<Option<Buf>, Error> {
        let _turn = self.turn.lock().await;
        let copy = {
            let mut state = self.state.0.lock();
            let place = state.next_place;
            let Some(frame) = state.arrivals.front() else { return Ok(None) };
            let placed = Placed { place: Some(place), ..frame.placed };
            // The copy goes to the other participants, the original to the application here.
            let copy = Buf::copy_of(&frame.payload, HEADER + self.inner.base().reserved())?;
            match frame.placed.place.replace(place) {
                // A dropped call has positioned the message already.
                Some(before) => {
                    frame.placed.place = Some(before);
                    self.encode(copy, Placed { place: Some(before), ..placed })?
                }
                None => {
                    state.next_place += 1;
                    self.encode(copy, placed)?
                }
            }
        };
        let unsent = Unsent(&self.ready);
        self.inner.send(copy).await?;
        std::mem::forget(unsent);
        Ok(self.pop().map(|frame| frame.payload))
    }
}

impl<Inner: Connection<Data = Buf>> Reorders for SequencerOrderedConnection<Inner> {
    type Inner = Inner;
    type Message = Frame;

    fn inner(&self) -> &Inner {
        &self.inner
    }

    fn ready(&self) -> &Notify {
        &self.ready
    }

    fn arrivals(&self) -> MappedMutexGuard<'_, Arrivals<Frame>> {
        MutexGuard::map(self.state.0.lock(), |state| &mut state.arrivals)
    }

    fn insert(&self, message: Buf) {
        let now = self.inner.base().runtime().now();
        let mut state = self.state.0.lock();
        let Some(frame) = Frame::parse(message) else {
            state.arrivals.dropped.add(1);
            return;
        };
        let has_new_gap = match (frame.placed.place, self.leads) {
            // A sender's messages are ordered as they were sent.
            (None, true) => state.arrivals.insert(now, frame.placed.sender, frame.placed.number, frame),
            (Some(place), false) => {
                if frame.placed.sender == self.sender {
                    state.ordered = state.ordered.max(frame.placed.number + 1);
                    self.progress.notify_waiters();
                }
                state.arrivals.insert(now, 0, place, frame)
            }
            // The message is meant for the sequencer alone.
            (None, false) => false,
            (Some(_), true) => {
                state.arrivals.dropped.add(1);
                false
            }
        };
        if has_new_gap {
            self.ready.notify_waiters();
        }
    }
}

impl<Inner: Connection<Data = Buf>> Connection for SequencerOrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    forward!(self.inner => base, mtu, close);

    async fn send(&self, message: Buf) -> Result<(), Error> {
        self.inner.send(self.number(message)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let taken = match self.leads {
                true => self.place_next().await?,
                false => self.pop().map(|frame| frame.payload),
            };
            match taken {
                Some(message) => return Ok(message),
                None => progress(self).await?,
            }
        }
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = Buf> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        send_encoded(&self.inner, messages, |message| self.number(message))
    }

    async fn recv_batch(&self, into: &mut (impl Extend<Buf> + Send), limit: usize) -> Result<usize, Error> {
        if limit == 0 {
            return Ok(0);
        }
        // The sequencer sends each message to the other participants before it delivers it, which `recv`
        // does.
        let pop = || if self.leads { None } else { self.pop().map(|frame| frame.payload) };
        Ok(extend(into, limit, self.recv().await?, pop))
    }

    async fn drain(&self) -> Result<(), Error> {
        let sent = self.next.load(Ordering::Relaxed);
        // The sequencer orders its own messages when it sends them.
        let has_to_wait = || !self.leads && self.state.0.lock().ordered < sent;
        while has_to_wait() {
            let progress = pin!(self.progress.notified());
            let mut progress = progress;
            progress.as_mut().enable();
            let ordered = self.state.0.lock().ordered;
            if ordered >= sent {
                break;
            }
            let runtime = self.inner.base().runtime();
            let late = pin!(runtime.sleep_until(runtime.now() + DRAIN_TIMEOUT));
            if let Either::Right(_) = select(progress, late).await {
                let what =
                    format!("the sequencer has not ordered the last {} messages of this end", sent - ordered);
                return Err(Error::new(ErrorKind::TimedOut, what).at("SequencerOrdered"));
            }
        }
        self.inner.drain().await
    }
}

debug_fields!(SequencerOrderedConnection<Inner: Debug> { leads, inner });
