//! Changing a connection's stack while messages flow, for two ends and, in `bertha-rendezvous`, for any number of them.
//!
//! * [`handover`]: the machine that changes stacks, without I/O: stage, build, end sending, count, switch, retire.
//! * [`by_peer`]: how two ends agree on a change, without I/O. Participants of a rendezvous agree through a store instead; both
//!   own the same machine. [`vain_proposals`]: how many of the peer's proposals may come to nothing.
//! * [`shell`]: the task that carries the machine's steps out; [`steps`]: those that take time. It knows a kind of connection as
//!   an [`agent`], and the link below the stacks as its [`bottom`]. [`peer_agent`]: that of two ends.
//! * [`epoch`]: one stack of a connection. [`slots`]: the calls that use it, without a lock; [`slot`]: one of them. [`calls`]:
//!   sending and receiving in the epoch in force.
//! * [`upgradable`]: the stack whose connections change; [`connection`]: the application's end; [`pick`]: the
//!   application's request.
//!
//! **Guarantees.** A message is sent in one epoch. An epoch begins on either end only after all sends of the one before
//! have ended and its Chunnels hold nothing back, and after it was received whole, or no more of it arrived for a
//! while. So nothing is lost, repeated or reordered by the change.

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
