//! The simulator as a runtime.

use super::sleep::Sleep;
use super::task::SimTask;
use super::world::World;
use bertha_core::Runtime;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Tasks, virtual time and seeded randomness of a [`Sim`](crate::Sim). Clones are cheap.
#[derive(Clone)]
pub struct SimRuntime {
    pub(crate) world: Arc<World>,
}

impl SimRuntime {
    /// Waits for `duration` of virtual time. The future is cancellation-safe.
    pub fn sleep(&self, duration: Duration) -> impl Future<Output = ()> + Send + 'static {
        self.sleep_until(self.now() + duration)
    }

    /// Returns the virtual time since the start of the simulation.
    pub fn elapsed(&self) -> Duration {
        self.world.elapsed()
    }

    /// Returns the seed of the simulation.
    pub fn seed(&self) -> u64 {
        self.world.seed
    }
}

impl Runtime for SimRuntime {
    type Task = SimTask;

    fn now(&self) -> Instant {
        self.world.now()
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        Sleep::new(self.world.clone(), deadline)
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> SimTask {
        SimTask { id: self.world.add_task(Some(Box::pin(task))), world: self.world.weak() }
    }

    fn random(&self) -> u64 {
        self.world.random()
    }
}

impl fmt::Debug for SimRuntime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SimRuntime").field("seed", &self.seed()).field("elapsed", &self.elapsed()).finish()
    }
}

bertha_core::debug_fields!(World { seed });
