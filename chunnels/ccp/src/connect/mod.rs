//! Connections to an agent.

mod guarded;
#[cfg(feature = "agent")]
mod in_process;
mod rights;
mod unix;

#[cfg(feature = "agent")]
pub(crate) use guarded::{GuardedSocket, is_nothing};
#[cfg(feature = "agent")]
pub(crate) use in_process::in_process;
#[cfg(feature = "agent")]
pub use in_process::{AgentEnd, Pace};
pub(crate) use unix::connect;
