//! Changing a connection's stack while messages flow.
//!
//! * [`seats`]: who uses the round in force, without a lock. [`place`]: where.
//! * [`round`]: one stack of a connection, and what went through it.
//! * [`calls`]: sending and receiving through whichever round it is. [`connection`]: the connection that does.
//! * [`upgradable`]: the stack that makes such connections. [`pick`]: what an application asks for.
//! * [`agent`]: the task that agrees with the other end, and changes the rounds.
//!
//! **What is promised.** A message is sent in one round. A round begins on either end only after all sends of the one before
//! have ended and what its Chunnels held back is out, and after it was received whole, or nothing more of it came for a
//! while. So nothing is lost, repeated or reordered by the change.

mod agent;
mod calls;
mod connection;
mod machine;
mod pick;
mod place;
mod round;
mod seats;
mod sync;
mod upgradable;
mod work;

use crate::link::last_waiter;

#[cfg(test)]
mod tests;

pub use connection::Switching;
pub use pick::Pick;
pub use round::{Round, Rounds};
pub use seats::Seats;
pub use upgradable::Upgradable;
pub use work::{Meanwhile, end_sending, read_meanwhile, vacate};
