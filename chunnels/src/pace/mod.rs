//! Sends at a bounded rate.
//!
//! [`Pace`] sends at most a fixed number of bytes per second, and a bounded burst after an idle time: a token bucket. It stands
//! above any connection that carries bytes, and needs no counterpart at the other end.
//!
//! ```
//! use bertha_chunnels::{AtMostOnce, Pace};
//! use bertha_core::make_stack;
//!
//! // 12 Mbit/s, so that the queue of the bottleneck stays short.
//! let stack = make_stack!(AtMostOnce, Pace::new(1_500_000));
//! ```
//!
//! A message counts with its own bytes and the headers of the layers below; headers of the datapath do not count. Over any time
//! `t` at most `rate * t` bytes, the burst, and one message are sent.
//!
//! # Backpressure
//!
//! `send` waits until its message may be sent, and is ready once the layers below have taken it; this Chunnel
//! queues nothing and drops nothing. Several `send`s at once run in the order in which they were called.
//! `recv` is not slowed.
//!
//! [`Reliable`](crate::Reliable) paces its packets already, by its measurements of the path. Below it, `Pace` is an upper bound.
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | rate ([`Pace::new`]) | none: always given |
//! | [`burst`](Pace::burst) | two milliseconds' worth, at least 2,000 bytes |

mod chunnel;
mod connection;
mod statistics;

pub use chunnel::Pace;
pub use connection::PaceConnection;
pub use statistics::PaceStatistics;
