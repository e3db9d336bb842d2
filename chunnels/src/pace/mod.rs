//! Sends at a bounded rate.
//!
//! [`Pace`] lets so many bytes go per second, and a bounded burst after an idle time: a token bucket. It stands above any
//! connection that carries bytes, and needs no counterpart at the other end.
//!
//! ```
//! use bertha_chunnels::{AtMostOnce, Pace};
//! use bertha_core::make_stack;
//!
//! // 12 Mbit/s, so that the queue of the bottleneck stays short.
//! let stack = make_stack!(AtMostOnce, Pace::new(1_500_000));
//! ```
//!
//! A message counts with its own bytes and those that the layers below put in front of it; what the datapath adds is its own
//! affair. Over any time `t` at most `rate * t`, the burst, and one message go.
//!
//! # Backpressure
//!
//! What may not go yet waits in `send`, which is ready once the layers below have taken the message; nothing is queued here and
//! nothing dropped. Several `send`s at once go in the order in which they were called. `recv` is not slowed.
//!
//! [`Reliable`](crate::Reliable) paces its packets already, by what it learns of the path. Below it, `Pace` is an upper bound.

mod chunnel;
mod connection;

pub use chunnel::Pace;
pub use connection::PaceConnection;
