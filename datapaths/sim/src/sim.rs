//! A simulation, from seed to result.

use crate::executor::World;
use crate::{Halt, Network, Schedule, SimRuntime};
use std::fmt;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

/// A simulation: a [`Network`], and an executor that runs tasks on the calling thread in virtual time.
///
/// When no task is ready, time jumps to the next scheduled event. Everything, from the faults of the network
/// to the order in which ready tasks run, follows from the seed, so a seed that fails fails again:
///
/// ```
/// use bertha_core::{Buf, Connection, Datapath, ErrorKind};
/// use bertha_datapath_sim::{Link, Sim};
///
/// let mut sim = Sim::new(42);
/// let network = sim.network().clone();
/// network.set_link(Link { loss: 1.0, ..Link::default() });
/// sim.run(async {
///     let client = network.host([10, 0, 0, 1]).connect("10.0.0.2:4242".parse()?).await?;
///     client.send(Buf::copy_of(b"hello", 0)?).await?;
///     assert_eq!(network.counters().lost, 1);
///     Ok::<(), bertha_core::Error>(())
/// })?;
/// # Ok::<(), bertha_core::Error>(())
/// ```
///
/// Values that are drawn from elsewhere (the order of a `HashMap`, the real clock, other threads) are not
/// reproducible; [`trace`](Self::trace) shows if two runs differ.
pub struct Sim {
    world: Arc<World>,
    network: Network,
}

impl Sim {
    /// Creates a simulation with a network without faults, with bounds of one hour of virtual time and of ten
    /// million steps.
    pub fn new(seed: u64) -> Self {
        let world = World::new(seed);
        let network = Network::new(SimRuntime { world: world.clone() });
        Self { world, network }
    }

    /// Runs ready tasks in this order.
    #[must_use]
    pub fn schedule(self, schedule: Schedule) -> Self {
        self.world.configure(|state| state.ready.schedule = schedule);
        self
    }

    /// Halts rather than let virtual time pass `limit` after the start.
    #[must_use]
    pub fn time_limit(self, limit: Duration) -> Self {
        self.world.configure(|state| state.limits.time = limit);
        self
    }

    /// Halts after tasks were run this many times in all.
    #[must_use]
    pub fn step_limit(self, limit: u64) -> Self {
        self.world.configure(|state| state.limits.steps = limit);
        self
    }

    /// Returns the simulation as a runtime.
    pub fn runtime(&self) -> SimRuntime {
        SimRuntime { world: self.world.clone() }
    }

    /// Returns the network.
    pub fn network(&self) -> &Network {
        &self.network
    }

    /// Returns a fingerprint of the course so far: it depends on which task ran when, and on what the network
    /// did to which datagram.
    pub fn trace(&self) -> u64 {
        self.world.trace()
    }

    /// Runs `main` and the tasks that it spawns until `main` ends. The remaining tasks then end as well; the
    /// network stays as it is for another run.
    ///
    /// # Panics
    /// Panics if the run halts; see [`Halt`]. When a task panics, the seed is printed.
    pub fn run<T>(&mut self, main: impl Future<Output = T>) -> T {
        self.try_run(main).unwrap_or_else(|halt| panic!("{halt}"))
    }

    /// Runs `main` as [`run`](Self::run), for tests that expect a halt.
    ///
    /// # Errors
    /// [`Halt`] if the run can't come to its end: because of a deadlock, or because a bound was reached.
    pub fn try_run<T>(&mut self, main: impl Future<Output = T>) -> Result<T, Halt> {
        let mut main = pin!(main);
        let course = Course { world: &self.world };
        let main_task = self.world.add_task(None);
        loop {
            let turn = course.world.next_turn()?;
            if turn.task != main_task {
                course.world.take_turn(turn);
            } else if let Poll::Ready(result) = main.as_mut().poll(&mut Context::from_waker(&turn.waker)) {
                return Ok(result);
            }
        }
    }
}

impl Drop for Sim {
    fn drop(&mut self) {
        self.world.end();
    }
}

impl fmt::Debug for Sim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sim").field("seed", &self.world.seed).finish_non_exhaustive()
    }
}

/// A run that is going on. When it ends in any way, its tasks end with it.
struct Course<'a> {
    world: &'a World,
}

impl Drop for Course<'_> {
    #[expect(clippy::print_stderr, reason = "whoever reads that a test panicked needs the seed beside it")]
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("simulation with seed {} panicked at {:?}", self.world.seed, self.world.elapsed());
        }
        self.world.end_tasks();
    }
}
