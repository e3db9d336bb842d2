//! The executor: a single thread, virtual time, and an order of tasks drawn from the seed.

mod halt;
mod ready;
mod runtime;
mod sleep;
mod task;
mod timeline;
mod world;

pub use halt::{Halt, HaltReason};
pub use ready::Schedule;
pub use runtime::SimRuntime;
pub use task::SimTask;
pub(crate) use world::World;

/// The number of a task, in the order of spawning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TaskId(u64);
