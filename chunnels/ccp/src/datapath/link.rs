//! The link to an agent.

use bertha_core::Error;
use std::fmt;

/// The link from a datapath to an agent. Messages of the agent come to
/// [`Datapath::handle`](super::Datapath::handle).
///
/// # For implementers
///
/// `send` is called while acknowledgements are handled, so it must not wait for the agent. It may call
/// [`Datapath::handle`](super::Datapath::handle) before it returns.
pub trait Link: fmt::Debug + Send + Sync + 'static {
    /// Hands over one message. It may get lost without an error.
    ///
    /// # Errors
    /// [`Exhausted`](bertha_core::ErrorKind::Exhausted) if the agent takes no more messages at the moment: the
    /// flow then waits for its answers, as after a message that got lost. With any other error there is no agent, and another
    /// control takes the flow over at once.
    fn send(&self, message: &[u8]) -> Result<(), Error>;

    /// Returns a name of the agent, for the log.
    fn agent(&self) -> String {
        "of this process".to_owned()
    }
}
