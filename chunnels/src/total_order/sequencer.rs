//! One order for all messages, which one participant makes.

use super::Limits;
use super::arrivals::Arrivals;
use super::places::{Frame, HEADER, Placed};
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
};
use futures_util::future::{Either, FutureExt, pending, select};
use futures_util::select_biased;
use parking_lot::Mutex;
use std::fmt;
use std::pin::pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::sync::Notify;

/// How long draining waits for the sequencer after it was last heard of.
const DRAIN: Duration = Duration::from_secs(1);

/// Sends messages to the participant that leads the round, which sends them to all in one order. On a connection with two ends the
/// server does. See the [module](crate::total_order).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Identity)]
pub struct SequencerOrdered {
    limits: Limits,
}

impl SequencerOrdered {
    /// Waits 50 ms for a message that is missing, and keeps up to 4,096 that came before their turn.
    pub fn new() -> Self {
        Self::default()
    }

    /// Waits so long for a message that is missing.
    #[must_use]
    pub fn patience(mut self, patience: Duration) -> Self {
        self.limits.patience = patience;
        self
    }

    /// Keeps up to `messages` that came before their turn; at least one.
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
        inner.base().reserve(HEADER);
        let leads = matches!(context.role(), Role::Server | Role::Participant { leads: true });
        let sender = inner.base().runtime().random();
        let state = State { arrivals: Arrivals::new(self.limits), next_place: 0, ordered: 0 };
        Ok(SequencerOrderedConnection {
            inner,
            sender,
            next: AtomicU64::new(0),
            leads,
            state: Mutex::new(state),
            turn: tokio::sync::Mutex::new(()),
            ready: Notify::new(),
            progress: Notify::new(),
        })
    }
}

/// What [`SequencerOrdered`] makes of a connection that carries bytes.
///
/// `send` is ready when the message is on its way to the sequencer, which orders it while its own application receives;
/// [`drain`](Connection::drain) waits until it has, or until nothing was heard of it for a second. Several `recv`s at once of the sequencer take turns.
pub struct SequencerOrderedConnection<Inner> {
    inner: Inner,
    /// Drawn at random; tells this sender from others.
    sender: u64,
    /// The number of the next message that this end sends.
    next: AtomicU64,
    leads: bool,
    /// Locked for one message at a time, never while waiting.
    state: Mutex<State>,
    /// Who of the sequencer's receivers passes a message on.
    turn: tokio::sync::Mutex<()>,
    /// Another receiver left a message whose turn it is, or one that waits for a time that others have to know: its call may
    /// be cancelled.
    ready: Notify,
    /// A message of this end was ordered.
    progress: Notify,
}

/// A message that has its place and was not sent. Dropped so, it is left to another call.
struct Left<'a>(&'a Notify);

impl Drop for Left<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

struct State {
    /// At the sequencer what each sender wants ordered, elsewhere what it has ordered.
    arrivals: Arrivals<Frame>,
    /// At the sequencer, the place of the next message.
    next_place: u64,
    /// How many of this end's messages were ordered, as far as it has heard.
    ordered: u64,
}

impl<Inner: Connection<Data = Buf>> SequencerOrderedConnection<Inner> {
    /// Whether this end is the sequencer.
    pub fn leads(&self) -> bool {
        self.leads
    }

    /// How many messages were dropped: they came twice, after they were passed over, or malformed.
    pub fn dropped(&self) -> u64 {
        self.state.lock().arrivals.dropped
    }

    /// A message with its header, wherever it was made.
    fn seal(&self, mut message: Buf, placed: Placed) -> Result<Buf, Error> {
        if message.headroom() < HEADER {
            message = Buf::copy_of(&message, HEADER + self.inner.base().reserved())?;
        }
        message.prepend(HEADER)?.copy_from_slice(&placed.to_bytes());
        Ok(message)
    }

    fn take_place(&self) -> u64 {
        let mut state = self.state.lock();
        state.next_place += 1;
        state.next_place - 1
    }

    fn insert(&self, message: Buf) {
        let now = self.inner.base().runtime().now();
        let mut state = self.state.lock();
        let Some(frame) = Frame::parse(message) else {
            state.arrivals.dropped += 1;
            return;
        };
        let waits = match (frame.placed.place, self.leads) {
            // What a sender wants ordered is taken in the order in which it was sent.
            (None, true) => state.arrivals.insert(now, frame.placed.sender, frame.placed.number, frame),
            (Some(place), false) => {
                if frame.placed.sender == self.sender {
                    state.ordered = state.ordered.max(frame.placed.number + 1);
                    self.progress.notify_waiters();
                }
                state.arrivals.insert(now, 0, place, frame)
            }
            // For the sequencer alone.
            (None, false) => false,
            (Some(_), true) => {
                state.arrivals.dropped += 1;
                false
            }
        };
        if waits {
            self.ready.notify_waiters();
        }
    }

    /// The next message to be received that is not this end's own.
    fn take(&self) -> Option<Frame> {
        let mut state = self.state.lock();
        let taken =
            std::iter::from_fn(|| state.arrivals.pop()).find(|frame| frame.placed.sender != self.sender);
        if state.arrivals.has_ready() {
            self.ready.notify_one();
        }
        taken
    }

    /// The sequencer's next message, once it is on its way to all others. If the future is dropped, the next call sends it again, and
    /// the others drop what came twice.
    async fn place_next(&self) -> Result<Option<Buf>, Error> {
        let _turn = self.turn.lock().await;
        let copy = {
            let mut state = self.state.lock();
            let place = state.next_place;
            let Some(frame) = state.arrivals.front() else { return Ok(None) };
            let placed = Placed { place: Some(place), ..frame.placed };
            // One goes to the others, and one to the application here.
            let copy = Buf::copy_of(&frame.payload, HEADER + self.inner.base().reserved())?;
            let in_hand = frame.placed.place.replace(place);
            match in_hand {
                // Its place was taken by a call that was dropped.
                Some(before) => {
                    frame.placed.place = Some(before);
                    self.seal(copy, Placed { place: Some(before), ..placed })?
                }
                None => {
                    state.next_place += 1;
                    self.seal(copy, placed)?
                }
            }
        };
        let left = Left(&self.ready);
        self.inner.send(copy).await?;
        std::mem::forget(left);
        Ok(self.take().map(|frame| frame.payload))
    }

    /// Waits for whatever happens next.
    async fn more(&self) -> Result<(), Error> {
        let runtime = self.inner.base().runtime();
        // Before it looks, so that it hears of whatever happens after that.
        let mut ready = pin!(self.ready.notified().fuse());
        let deadline = self.state.lock().arrivals.deadline();
        let mut late = pin!(
            async {
                match deadline {
                    Some(deadline) => runtime.sleep_until(deadline).await,
                    None => pending().await,
                }
            }
            .fuse()
        );
        let mut receiving = pin!(self.inner.recv().fuse());
        select_biased! {
            message = receiving => match message {
                Ok(message) => self.insert(message),
                Err(error) => {
                    let mut state = self.state.lock();
                    state.arrivals.flush(runtime.now());
                    if !state.arrivals.has_ready() {
                        return Err(error);
                    }
                }
            },
            () = ready => {}
            () = late => self.state.lock().arrivals.expire(runtime.now()),
        }
        Ok(())
    }
}

impl<Inner: Connection<Data = Buf>> Connection for SequencerOrderedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    fn mtu(&self) -> usize {
        self.inner.mtu()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let place = self.leads.then(|| self.take_place());
        let message = self.seal(message, Placed { sender: self.sender, number, place })?;
        self.inner.send(message).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let taken = match self.leads {
                true => self.place_next().await?,
                false => self.take().map(|frame| frame.payload),
            };
            match taken {
                Some(message) => return Ok(message),
                None => self.more().await?,
            }
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        let sent = self.next.load(Ordering::Relaxed);
        // The sequencer has ordered its own before it sent them.
        let has_to_wait = || !self.leads && self.state.lock().ordered < sent;
        while has_to_wait() {
            let progress = pin!(self.progress.notified());
            let mut progress = progress;
            progress.as_mut().enable();
            let ordered = self.state.lock().ordered;
            if ordered >= sent {
                break;
            }
            let runtime = self.inner.base().runtime();
            let late = pin!(runtime.sleep_until(runtime.now() + DRAIN));
            if let Either::Right(_) = select(progress, late).await {
                let what =
                    format!("the sequencer has not ordered the last {} messages of this end", sent - ordered);
                return Err(Error::new(ErrorKind::TimedOut, what).at("SequencerOrdered"));
            }
        }
        self.inner.drain().await
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}

impl<Inner: fmt::Debug> fmt::Debug for SequencerOrderedConnection<Inner> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SequencerOrderedConnection")
            .field("leads", &self.leads)
            .field("inner", &self.inner)
            .finish_non_exhaustive()
    }
}
