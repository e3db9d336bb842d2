//! Changing a connection's stack while messages flow, for two ends and, in `rendezvous`, for any number of
//! endpoints.
//!
//! * [`handover`]: the machine that changes stacks, without I/O: stage, build, end sending, count, switch,
//!   retire.
//! * [`by_peer`]: the agreement of two ends on a change, without I/O. Participants of a rendezvous agree
//!   through a store instead; both agreements own the same machine. [`vain_proposals`]: the bound on the
//!   peer's failed proposals.
//! * [`task`]: the task that carries the machine's steps out; [`steps`]: the steps that take time.
//!   [`protocol`]: the part in which kinds of connections differ, with [`peer_protocol`] for two ends.
//!   [`link_handle`]: the link below the stacks.
//! * [`epoch`]: one stack of a connection. [`slots`]: the calls that use it, without a lock; [`slot`]: the
//!   place of one call. [`calls`]: sending and receiving in the current epoch.
//! * [`upgradable`]: the stack whose connections change; [`connection`]: the application's end; [`pick`]: the
//!   application's request.
//!
//! **Guarantees.** A message is sent in one epoch. An epoch begins on either end only after all sends of the
//! epoch before have ended and its Chunnels hold no message back, and after all of its messages were
//! received, or none has arrived for the time-out. So the change loses, repeats and reorders no message.
//!
//! **Limits.** An end that proposes gives the change up if its sends in the old epoch do not end within
//! [`handshake_timeout`](crate::Settings::handshake_timeout). From then on a change between two ends drains
//! the old stack for as long as the peer needs to receive its messages. A peer that sends and never receives
//! holds up only the messages to it: after [`drain_timeout`](crate::Settings::drain_timeout) receivers leave
//! the old stack, which drains in the background, and sends wait until it has. A warning is logged. In a
//! group a participant drains for a limited time, and its messages are lost after that.
//!
//! **Ends.** When the connection ends amid a change, receivers get the messages that the old stack holds,
//! then the messages of the next stack if the peer may have used it, and then the end. A stack that was only
//! staged has no part in that, and a close closes the stack in use. If a stack can't deliver its messages
//! before a change, the connection is cut, unless an end closes meanwhile: the result of the close then says
//! if messages may be missing.

mod by_peer;
mod calls;
mod connection;
mod epoch;
mod handover;
mod link_handle;
mod newest;
mod peer_protocol;
mod pick;
mod protocol;
mod slot;
mod slots;
mod steps;
mod sync;
mod task;
mod upgradable;
mod vain_proposals;

#[cfg(test)]
mod handover_tests;
#[cfg(all(test, loom))]
mod loom_tests;
#[cfg(test)]
mod slots_tests;

pub use connection::Switching;
pub(crate) use epoch::Epochs;
pub(crate) use handover::Handover;
pub(crate) use link_handle::LinkHandle;
pub use pick::Pick;
pub(crate) use protocol::{ChangeLimits, Staged, UpgradeProtocol};
pub(crate) use task::UpgradeTask;
pub use upgradable::Upgradable;
