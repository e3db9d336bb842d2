//! Injected faults: messages are lost, duplicated, delayed and reordered at rates, reproducibly from a seed.
//!
//! [`Fault`] is for trying out stacks without the simulator or the system's own network emulation. Put it at the
//! bottom of one end's stack; it affects the messages that this end sends, and the other end need not have it:
//!
//! ```
//! use bertha_chunnels::{Fault, Reliable};
//! use bertha_core::make_stack;
//! use std::time::Duration;
//!
//! let stack = make_stack!(Reliable::new(), Fault::new(42).loss(0.02).delay(Duration::from_millis(10)));
//! ```
//!
//! A seed draws the same faults for the same sequence of messages on each connection; the times depend on the
//! runtime's timers.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`loss`](Fault::loss), [`duplication`](Fault::duplication), [`reordering`](Fault::reordering) | 0 |
//! | [`delay`](Fault::delay) | none |
//! | messages that wait | 65,536, fixed; more are lost |

mod chunnel;
mod connection;
mod dice;
mod rates;
mod schedule;

pub use chunnel::Fault;
pub use connection::FaultConnection;
