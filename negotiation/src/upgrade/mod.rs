//! Changing a connection's stack while messages flow, for two ends and, in `bertha-rendezvous`, for any
//! number of endpoints.
//!
//! * [`handover`]: the machine that changes stacks, without I/O: stage, build, end sending, count, switch, retire.
//! * [`by_peer`]: the agreement of two ends on a change, without I/O. Participants of a rendezvous agree
//!   through a store instead; both agreements own the same machine. [`vain_proposals`]: the bound on the
//!   peer's failed proposals.
//! * [`shell`]: the task that carries the machine's steps out; [`steps`]: the steps that take time. The task
//!   knows a kind of connection as an [`agent`], and the link below the stacks as its [`bottom`].
//!   [`peer_agent`]: the agent of two ends.
//! * [`epoch`]: one stack of a connection. [`slots`]: the calls that use it, without a lock; [`slot`]: the
//!   place of one call. [`calls`]: sending and receiving in the epoch in force.
//! * [`upgradable`]: the stack whose connections change; [`connection`]: the application's end; [`pick`]: the
//!   application's request.
//!
//! **Guarantees.** A message is sent in one epoch. An epoch begins on either end only after all sends of the
//! epoch before have ended and its Chunnels hold no message back, and after all of its messages were
//! received, or none has arrived for the time-out. So the change loses, repeats and reorders no message.

mod agent;
mod bottom;
mod by_peer;
mod calls;
mod connection;
mod epoch;
mod handover;
mod peer_agent;
mod pick;
mod shell;
mod slot;
mod slots;
mod steps;
mod sync;
mod upgradable;
mod vain_proposals;

#[cfg(test)]
mod handover_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(test)]
mod slots_tests;

pub use agent::{Agent, ChangeLimits, Staged};
pub use bottom::Bottom;
pub use connection::Switching;
pub use epoch::Epochs;
pub use handover::Handover;
pub use pick::Pick;
pub use shell::Shell;
pub use upgradable::Upgradable;
