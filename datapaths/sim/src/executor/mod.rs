//! The executor: one thread, virtual time, and an order of tasks drawn from the seed.

mod halt;
mod ready;
mod runtime;
mod sim;
mod sleep;
mod task;
mod timeline;
mod world;

pub use halt::{Halt, HaltReason};
pub use ready::Schedule;
pub use runtime::SimRuntime;
pub use sim::Sim;
pub use task::SimTask;
pub(crate) use world::World;

use task::TaskId;
