//! The messages on their way through the daemon: in the heaps of applications, or as frames of other daemons.
//!
//! What comes `from_party` stays there until it has been passed on, and what goes `to_party` until the party has it; the `outbox` has the order
//! in which the party hears of it.

pub(crate) mod from_party;
pub(crate) mod interpreter_view;
pub(crate) mod memory;
pub(crate) mod outbox;
pub(crate) mod rows;
pub(crate) mod to_party;
