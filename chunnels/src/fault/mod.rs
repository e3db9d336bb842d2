//! A bad network on a good machine: loses, repeats, delays and reorders what is sent, as a seed says.
//!
//! [`Fault`] is for trying out stacks where neither the simulator nor the system's own emulation is at hand. Put it at the
//! bottom of one end's stack; it works on what that end sends, and the other end need not have it:
//!
//! ```
//! use bertha_chunnels::{Fault, Reliable};
//! use bertha_core::make_stack;
//! use std::time::Duration;
//!
//! let stack = make_stack!(Reliable::new(), Fault::new(42).loss(0.02).delay(Duration::from_millis(10)));
//! ```
//!
//! The same seed draws the same faults for the same sequence of messages on each connection; when they meet a message
//! depends on the runtime's timers.

mod chunnel;
mod connection;
mod dice;
mod schedule;

pub use chunnel::Fault;
pub use connection::FaultConnection;
