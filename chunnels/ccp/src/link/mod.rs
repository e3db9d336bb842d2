//! Ways to an agent.

#[cfg(feature = "agent")]
mod in_process;
mod unix;

#[cfg(feature = "agent")]
pub(crate) use in_process::in_process;
#[cfg(feature = "agent")]
pub use in_process::{AgentEnd, Pace};
pub(crate) use unix::connect;

use bertha_core::Error;
use std::fmt;

/// The way from a datapath to an agent. Messages of the agent come to [`Datapath::handle`](crate::Datapath::handle).
///
/// # For implementers
///
/// `send` is called while acknowledgements are handled, so it must not wait for the agent. It may call
/// [`Datapath::handle`](crate::Datapath::handle) before it returns.
pub trait Link: fmt::Debug + Send + Sync + 'static {
    /// Hands over one message. It may get lost without an error.
    ///
    /// # Errors
    /// If there is no agent, or it takes no more at the moment.
    fn send(&self, message: &[u8]) -> Result<(), Error>;
}
