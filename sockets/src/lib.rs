//! The moves of the stream of a TCP socket into a ring of shared memory and back, without I/O.
//!
//! Two programs of one machine have a TCP connection, the *carrier*. Each direction of it may move into a ring, and back, at any
//! byte, as its [`Sender`] decides; the [`Receiver`] follows. A byte on the carrier that is sent while the stream is in the ring is a
//! *bell*: it carries nothing, and makes the kernel wake the receiver.
//!
//! ```text
//!  carrier:  data ......... | bell bell |  data ...
//!                           ^ring_at    ^back_at
//!  ring:                    | data .... |
//!                                       ^ring_end
//! ```
//!
//! The sender writes the places of a move into [words](control) of the shared memory before it writes the first byte behind the
//! move. So a receiver that looks at bytes of the carrier without taking them, and then at the words, knows which of them are data. A
//! sender moves into the ring again only after the receiver has followed it back, so there is one pair of places at a time.
//!
//! **The other end is hostile.** It may write anything into the memory. A wrong place makes its own stream wrong, or ends the
//! connection; it makes neither end read outside of the memory, wait under a lock, or go round in circles.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod ahead;
pub mod control;
pub mod datagrams;
pub mod device;
mod edge;
pub mod protocol;
mod receiver;
mod sender;
mod severed;
mod side;
mod spins;
mod table;
mod toll;
mod why;

pub use ahead::Ahead;
pub use bertha_ring::{Broken, Direction, Layout, Word};
pub use edge::Edge;
pub use receiver::{Receiver, Source};
pub use sender::{Pushed, Sender};
pub use side::Side;
pub use spins::Spins;
pub use table::Table;
pub use toll::{BYTES, MESSAGES, Toll};
pub use why::Why;

#[cfg(test)]
mod tests;
