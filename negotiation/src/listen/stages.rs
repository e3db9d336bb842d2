//! The tasks of handshakes under way.

use super::handshakes::{Handshakes, Room};
use super::overload::{Lack, OverloadCount};
use super::progress::Progress;
use super::replies::turn_away;
use crate::Settings;
use bertha_core::{Base, BoxFuture, Buf, Connection, Error, ErrorKind, Network, Runtime};
use futures_util::FutureExt;
use futures_util::future::select;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Maximum number of places, beyond which places serve no server.
const MOST: usize = 1 << 20;

/// Longest time for which a client that is given up is told so, if the datapath does not take it at once.
const TELLING: Duration = Duration::from_millis(100);

/// Maximum number of clients that are told so beside each other; a further one takes the place of the oldest.
const MOST_TOLD: usize = 64;

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// The places that a handshake takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A stream that has not made its offer.
    Silent,
    /// A client at an unvalidated address, which has to confirm.
    Unvalidated,
    /// Any other handshake.
    Proven,
}

/// The handshakes that wait, each in its own task. The outcome of each is an `O`.
pub(super) struct Stages<C: Connection, O> {
    /// The handshakes of clients with unvalidated addresses, which keep no other client from a place.
    unvalidated: Handshakes<Work<C>>,
    proven: Handshakes<Work<C>>,
    /// The tasks that tell clients that they are given up.
    telling: VecDeque<TaskOf<C>>,
    next: u64,
    outcomes: mpsc::Sender<Ended<O>>,
    ended: mpsc::Receiver<Ended<O>>,
}

/// A handshake's task.
struct Work<C: Connection> {
    base: Arc<C>,
    is_silent: bool,
    /// Ends the handshake when it is dropped.
    _task: TaskOf<C>,
}

/// The end of the handshake with this number.
struct Ended<O> {
    number: u64,
    outcome: O,
}

impl<C: Connection<Data = Buf>, O: From<Error> + Send + 'static> Stages<C, O> {
    /// Makes the places of `settings`, but no more than a quarter of `capacity`.
    pub(super) fn new(settings: &Settings, capacity: Option<usize>) -> Self {
        let most =
            capacity.map_or(MOST, |capacity| capacity / 4).min(settings.concurrent_handshakes).min(MOST);
        let patience = settings.handshake_timeout / 20;
        let unvalidated = settings.unvalidated_clients.min(most);
        let (outcomes, ended) = mpsc::channel(most + unvalidated + 1);
        Self {
            unvalidated: Handshakes::new(unvalidated, patience),
            proven: Handshakes::new(most, patience),
            telling: VecDeque::new(),
            next: 0,
            outcomes,
            ended,
        }
    }

    /// Returns the number of handshakes, and the number of handshakes at unvalidated addresses.
    pub(super) fn len(&self) -> [usize; 2] {
        [self.proven.len() + self.unvalidated.len(), self.unvalidated.len()]
    }

    /// Makes room for a stream from this network, or returns the time at which there may be room.
    pub(super) fn make_room(
        &mut self,
        newcomer: Option<Network>,
        now: Instant,
        overload: &OverloadCount,
    ) -> Result<(), Instant> {
        match self.proven.room(newcomer, now) {
            Room::Free => Ok(()),
            Room::InPlaceOf(number) => {
                self.give_up(Kind::Proven, number, now, overload);
                Ok(())
            }
            Room::From(until) => Err(until),
        }
    }

    /// Gives up the handshakes that have waited longest for their peers, a sixteenth of all, since
    /// descriptors or memory have run out. Returns true if there were any.
    pub(super) fn shed(&mut self, now: Instant, overload: &OverloadCount) -> bool {
        let before = self.proven.len();
        for _ in 0..before.div_ceil(16) {
            let Some((_, number)) = self.proven.longest_waiting(None) else { break };
            self.give_up(Kind::Proven, number, now, overload);
        }
        before > 0
    }

    /// Goes on with a handshake over `base` in a task. If there is no place, another handshake is given up
    /// for it.
    pub(super) fn begin(
        &mut self,
        kind: Kind,
        base: Arc<C>,
        progress: Progress,
        handshake: Handshake<O>,
        overload: &OverloadCount,
    ) {
        let network = Network::of(&base.base().peer_addr());
        let now = progress.heard_at();
        let place = match self.of(kind).room(network, now) {
            Room::Free => None,
            Room::InPlaceOf(number) => Some(number),
            // A client that is in already, or a datagram, which nothing holds until there is room.
            Room::From(_) => self.of(kind).longest_waiting(None).map(|(_, number)| number),
        };
        if let Some(number) = place {
            self.give_up(kind, number, now, overload);
        }
        let number = self.next;
        self.next += 1;
        let outcomes = self.outcomes.clone();
        let task = base.base().runtime().spawn(async move {
            let outcome = handshake.await;
            // Fails only if the server is gone.
            let _ = outcomes.send(Ended { number, outcome }).await;
        });
        let work = Work { base, is_silent: kind == Kind::Silent, _task: task };
        self.of(kind).insert(number, network, progress, work);
    }

    /// Waits for the outcome of a handshake. The outcome of a handshake that was given up counts only if it
    /// `is_ready`. An outcome that `is_good` shows the time that handshakes take. Cancellation-safe.
    pub(super) async fn next(
        &mut self,
        now: impl Fn() -> Option<Instant>,
        is_good: impl Fn(&O) -> bool,
        is_ready: impl Fn(&O) -> bool,
    ) -> O {
        loop {
            // This end has a sender, so there is always another.
            let Some(Ended { number, outcome }) = self.ended.recv().await else {
                return std::future::pending().await;
            };
            let finished = now().filter(|_| is_good(&outcome));
            let is_held = [&mut self.proven, &mut self.unvalidated].into_iter().any(|stage| match finished {
                Some(now) => stage.finish(number, now),
                None => stage.remove(number).is_some(),
            });
            if is_held || is_ready(&outcome) {
                return outcome;
            }
        }
    }

    fn of(&mut self, kind: Kind) -> &mut Handshakes<Work<C>> {
        match kind {
            Kind::Unvalidated => &mut self.unvalidated,
            Kind::Silent | Kind::Proven => &mut self.proven,
        }
    }

    fn give_up(&mut self, kind: Kind, number: u64, now: Instant, overload: &OverloadCount) {
        let Some(held) = self.of(kind).remove(number) else { return };
        let Work { base, is_silent, _task } = held.work;
        overload.count(Lack::Handshake, Some(&base.base().peer_addr()), now);
        // A later stage tells its client when its task ends.
        if is_silent {
            self.tell(base);
        }
    }

    /// Tells a client that it is given up.
    fn tell(&mut self, base: Arc<C>) {
        // A socket with room takes it at once, unless this task has used up its turn on the runtime.
        if turn_away(&*base, 0).now_or_never().is_some() {
            return;
        }
        let runtime = base.base().runtime().clone();
        let late = runtime.sleep_until(runtime.now() + TELLING);
        let telling = runtime.spawn(async move {
            select(pin!(turn_away(&*base, 0)), pin!(late)).await;
        });
        if self.telling.len() == MOST_TOLD {
            self.telling.pop_front();
        }
        self.telling.push_back(telling);
    }
}

/// Runs a stage of a handshake, of which a panic is an outcome too, so that no client's Chunnels end the
/// server.
pub(super) struct Handshake<O>(BoxFuture<'static, O>);

impl<O> Handshake<O> {
    pub(super) fn new(stage: BoxFuture<'static, O>) -> Self {
        Self(stage)
    }
}

impl<O: From<Error>> Future for Handshake<O> {
    type Output = O;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<O> {
        let stage = AssertUnwindSafe(|| self.0.as_mut().poll(cx));
        // All that the stage has borrowed is dropped with it, or guarded by locks that ignore poison.
        catch_unwind(stage).unwrap_or_else(|_| {
            let what = "a Chunnel panicked while it got ready; the message of the panic says where";
            Poll::Ready(Error::new(ErrorKind::Io, what).at("negotiation").into())
        })
    }
}
