//! The tasks of handshakes under way.

use super::handshakes::{Handshakes, Room};
use super::overload::{Lack, OverloadCount};
use super::progress::Progress;
use crate::Settings;
use bertha_core::{Base, BoxFuture, Buf, Connection, Error, ErrorKind, Network, Runtime};
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};
use tokio::sync::mpsc;

/// Maximum number of places, beyond which places serve no server.
const MOST: usize = 1 << 20;

/// Longest time for which a handshake that is given up tells its client so. Most need no longer than their tasks
/// wait for a processor.
pub(super) const TELLING: Duration = Duration::from_secs(1);

/// Maximum number of handshakes that tell their clients so at one time. Streams wait in the backlog meanwhile; over
/// datagrams a further handshake takes the place of the oldest.
const MOST_TELLING: usize = 256;

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// The places that a handshake takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
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
    /// The handshakes that are given up and have not ended.
    given_up: VecDeque<GivenUp<C>>,
    next: u64,
    outcomes: mpsc::Sender<Ended<O>>,
    ended: mpsc::Receiver<Ended<O>>,
}

/// A handshake's task.
struct Work<C: Connection> {
    base: Arc<C>,
    /// Ends the handshake when it is dropped.
    _task: TaskOf<C>,
}

/// A handshake that tells its client that there is no room for it. A handshake may have come to its end before
/// it hears that it is given up; then its outcome counts.
struct GivenUp<C: Connection> {
    number: u64,
    since: Instant,
    work: Work<C>,
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
            given_up: VecDeque::new(),
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
        self.forget_old(now, overload);
        if self.given_up.len() >= MOST_TELLING
            && let Some(oldest) = self.given_up.front()
        {
            return Err(oldest.since + TELLING);
        }
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
        let work = Work { base, _task: task };
        self.of(kind).insert(number, network, progress, work);
    }

    /// Waits for the end of a handshake, and returns its outcome if it counts. The outcome of a handshake that was
    /// given up counts only if it `is_good`, and after [`TELLING`] only if it `is_ready`. An outcome that `is_good`
    /// shows the time that handshakes take. Cancellation-safe.
    pub(super) async fn next(
        &mut self,
        now: impl Fn() -> Option<Instant>,
        is_good: impl Fn(&O) -> bool,
        is_ready: impl Fn(&O) -> bool,
        overload: &OverloadCount,
    ) -> Option<O> {
        // This end has a sender, so there is always another.
        let Some(Ended { number, outcome }) = self.ended.recv().await else {
            return std::future::pending().await;
        };
        let finished = now().filter(|_| is_good(&outcome));
        let is_held = [&mut self.proven, &mut self.unvalidated].into_iter().any(|stage| match finished {
            Some(now) => stage.finish(number, now),
            None => stage.remove(number).is_some(),
        });
        let given_up = self.given_up.iter().position(|given_up| given_up.number == number);
        match given_up.and_then(|at| self.given_up.remove(at)) {
            Some(_) if is_good(&outcome) => Some(outcome),
            Some(given_up) => {
                given_up.count(overload);
                None
            }
            None => (is_held || is_ready(&outcome)).then_some(outcome),
        }
    }

    fn of(&mut self, kind: Kind) -> &mut Handshakes<Work<C>> {
        match kind {
            Kind::Unvalidated => &mut self.unvalidated,
            Kind::Proven => &mut self.proven,
        }
    }

    /// Gives up a handshake. A client at an unvalidated address is not told: it may not be there.
    fn give_up(&mut self, kind: Kind, number: u64, now: Instant, overload: &OverloadCount) {
        let Some(held) = self.of(kind).remove(number) else { return };
        let given_up = GivenUp { number, since: now, work: held.work };
        if kind == Kind::Unvalidated {
            return given_up.count(overload);
        }
        held.progress.give_up();
        self.given_up.push_back(given_up);
        self.forget_old(now, overload);
    }

    /// Ends the handshakes that were given up and took too long to end, or are too many.
    fn forget_old(&mut self, now: Instant, overload: &OverloadCount) {
        while let Some(oldest) = self.given_up.front()
            && (self.given_up.len() > MOST_TELLING || now >= oldest.since + TELLING)
            && let Some(oldest) = self.given_up.pop_front()
        {
            oldest.count(overload);
        }
    }
}

impl<C: Connection<Data = Buf>> GivenUp<C> {
    /// Counts a handshake that has ended for want of room.
    fn count(self, overload: &OverloadCount) {
        overload.count(Lack::Handshake, Some(&self.work.base.base().peer_addr()), self.since);
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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::super::replies::turn_away_within;
    use super::*;
    use bertha_datapath_sim::{PairConnection, Sim, SimRuntime, pair};
    use futures_util::FutureExt;

    /// The name of a client whose handshake has ended well.
    struct Made(Option<&'static str>);

    impl From<Error> for Made {
        fn from(_: Error) -> Self {
            Self(None)
        }
    }

    type SimStages = Stages<PairConnection<SimRuntime>, Made>;

    /// Begins the handshake of a client, and returns the client's end.
    fn begin(
        stages: &mut SimStages,
        runtime: &SimRuntime,
        overload: &OverloadCount,
        handshake: impl FnOnce(Arc<PairConnection<SimRuntime>>, Progress) -> BoxFuture<'static, Made>,
    ) -> PairConnection<SimRuntime> {
        let (here, there) = pair(runtime.clone());
        let (here, progress) = (Arc::new(here), Progress::new(runtime.now()));
        let handshake = Handshake::new(handshake(here.clone(), progress.clone()));
        stages.begin(Kind::Proven, here, progress, handshake, overload);
        there
    }

    /// Has a place for one handshake, and gives up the handshake `first` for another.
    fn give_up_for_another(
        first: impl FnOnce(Arc<PairConnection<SimRuntime>>, Progress) -> BoxFuture<'static, Made>,
    ) -> (Vec<&'static str>, u64, bool) {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let settings = Settings { concurrent_handshakes: 1, ..Settings::default() };
            let (mut stages, overload) = (SimStages::new(&settings, None), OverloadCount::default());
            let client = begin(&mut stages, &runtime, &overload, first);
            runtime.sleep(Duration::from_millis(1)).await;
            let later = runtime.clone();
            let _other = begin(&mut stages, &runtime, &overload, |_, _| {
                Box::pin(async move {
                    later.sleep(Duration::from_secs(1)).await;
                    Made(Some("other"))
                })
            });
            let mut made = Vec::new();
            while !made.contains(&"other") {
                let now = || Some(runtime.now());
                let is_good = |outcome: &Made| outcome.0.is_some();
                made.extend(stages.next(now, is_good, |_| false, &overload).await.and_then(|made| made.0));
            }
            (made, overload.get().handshakes, matches!(client.recv().now_or_never(), Some(Ok(_))))
        })
    }

    #[test]
    fn a_client_that_is_given_up_is_told_and_counted() {
        let waits = |base: Arc<PairConnection<SimRuntime>>, progress: Progress| -> BoxFuture<'static, Made> {
            Box::pin(async move {
                progress.given_up().await;
                turn_away_within(&*base, TELLING).await;
                Made(None)
            })
        };
        assert_eq!(give_up_for_another(waits), (vec!["other"], 1, true));
    }

    #[test]
    fn an_outcome_that_was_there_before_its_handshake_was_given_up_counts() {
        let is_made = |_, _| -> BoxFuture<'static, Made> { Box::pin(async { Made(Some("first")) }) };
        assert_eq!(give_up_for_another(is_made), (vec!["first", "other"], 0, false));
    }

    /// The end of a handshake that hears nothing is that of its task.
    #[test]
    fn a_handshake_that_does_not_end_is_ended_for_the_next_that_is_given_up() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        sim.run(async {
            let settings = Settings { concurrent_handshakes: 1, ..Settings::default() };
            let (mut stages, overload) = (SimStages::new(&settings, None), OverloadCount::default());
            let stuck = || begin(&mut stages, &runtime, &overload, |_, _| Box::pin(std::future::pending()));
            let clients: Vec<_> = std::iter::repeat_with(stuck).take(MOST_TELLING + 11).collect();
            assert_eq!((overload.get().handshakes, stages.given_up.len()), (10, MOST_TELLING));
            runtime.sleep(2 * TELLING).await;
            let last = begin(&mut stages, &runtime, &overload, |_, _| Box::pin(std::future::pending()));
            assert_eq!((overload.get().handshakes, stages.given_up.len()), (10 + MOST_TELLING as u64, 1));
            drop((clients, last));
        });
    }
}
