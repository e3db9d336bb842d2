//! Counts of messages, bytes and errors at one position of a stack, and the latency of sending.
//!
//! [`Metrics`] counts messages and passes them on unchanged. It can stand anywhere in a stack, any number of
//! times, and needs no counterpart at the other end. All connections of a stack, and of its clones, add to
//! the same counters:
//!
//! ```
//! use bertha_chunnels::metrics::{Metrics, prometheus};
//! use bertha_chunnels::Reliable;
//! use bertha_core::make_stack;
//!
//! let (messages, packets) = (Metrics::new("messages"), Metrics::new("packets"));
//! let stack = make_stack!(messages.clone(), Reliable::new(), packets.clone());
//! // ... connect or listen with it, and at any time:
//! let text = prometheus([&messages, &packets]);
//! assert!(text.contains(r#"bertha_messages_total{position="packets",direction="sent"} 0"#));
//! ```
//!
//! # Counters
//!
//! For each direction: messages, bytes, and failed calls, except calls after the connection was closed. For
//! sending: a histogram of the time from the call until the layers below have taken the message, or the whole
//! burst. Bytes are counted where messages are [`Buf`](bertha_core::Buf)s, so below the Chunnel that
//! serialises. A call whose future is dropped is not counted. The time that `recv` waits depends on the peer,
//! and is not measured.
//!
//! # Output
//!
//! * [`Metrics::snapshot`]: numbers, with quantiles.
//! * [`prometheus`]: the text that Prometheus scrapes. An application with an HTTP server answers `/metrics` with it,
//!   as `text/plain; version=0.0.4`.
//! * [`Metrics::trace`]: one event of level `INFO` with the totals, whenever the application calls it; and each message is an
//!   event of level `TRACE`. Both have the target `bertha::metrics`.
//!
//! # Cost
//!
//! Each `send` costs two reads of the clock and four atomic additions, each `recv` two additions. There is no
//! allocation and no lock.

mod buckets;
mod chunnel;
mod connection;
mod counters;
mod histogram;
mod prometheus;
mod snapshot;
#[cfg(test)]
mod tests;

pub use chunnel::Metrics;
pub use connection::MetricsConnection;
pub use histogram::Histogram;
pub use prometheus::prometheus;
pub use snapshot::{Latency, Snapshot, Totals};

/// The target of events.
const TARGET: &str = "bertha::metrics";
