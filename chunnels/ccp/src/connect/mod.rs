//! Connections to an agent.

mod guarded;
#[cfg(feature = "agent")]
mod in_process;
#[cfg(feature = "shm")]
pub(crate) mod memory;
mod own_path;
#[cfg(feature = "shm")]
pub(crate) mod own_runtime;
mod place;
mod rights;
mod unix;

#[cfg(feature = "agent")]
pub(crate) use guarded::{GuardedSocket, is_nothing};
#[cfg(feature = "agent")]
pub(crate) use in_process::in_process;
#[cfg(feature = "agent")]
pub use in_process::{AgentEnd, Pace};
#[cfg(feature = "agent")]
pub(crate) use own_path::OwnPath;
pub(crate) use place::connect_anywhere;
pub(crate) use unix::connect;

/// The beginning of the names of agents behind shared memory.
pub(crate) const MEMORY: &str = "shm:";
