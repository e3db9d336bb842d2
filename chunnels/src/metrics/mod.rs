//! How many messages pass one place of a stack, how large they are, and how long sending takes.
//!
//! [`Metrics`] passes everything on unchanged and counts it. It can stand anywhere, as often as one likes, and needs no
//! counterpart at the other end. All connections of one stack, and of its clones, count together:
//!
//! ```
//! use bertha_chunnels::metrics::{Metrics, prometheus};
//! use bertha_chunnels::Reliable;
//! use bertha_core::make_stack;
//!
//! let (messages, packets) = (Metrics::new("messages"), Metrics::new("packets"));
//! let stack = make_stack!(messages.clone(), Reliable::new(), packets.clone());
//! // ... connect or listen with it, and whenever somebody asks:
//! let text = prometheus([&messages, &packets]);
//! assert!(text.contains(r#"bertha_messages_total{position="packets",direction="sent"} 0"#));
//! ```
//!
//! # What is counted
//!
//! For each direction messages, bytes, and calls that failed, but not since the connection was closed; for sending, a histogram of the time from the call until the
//! layers below had taken the message, or the whole burst. Bytes are counted where messages are [`Buf`](bertha_core::Buf)s,
//! that is, below the Chunnel that serialises. A call whose future is dropped is not counted. How long `recv` waits is
//! the peer's affair, and not measured.
//!
//! # Where it goes
//!
//! * [`Metrics::snapshot`]: numbers, with quantiles.
//! * [`prometheus`]: the text that Prometheus scrapes. An application that has an HTTP server answers `/metrics` with it,
//!   as `text/plain; version=0.0.4`.
//! * [`Metrics::trace`]: one event of level `INFO` with the totals, as often as the application likes; and each message is an
//!   event of level `TRACE`. Both have the target `bertha::metrics`.
//!
//! # What it costs
//!
//! Two looks at the clock and four atomic additions for a message that is sent, two additions for one that is received. No
//! allocation and no lock.

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
pub use prometheus::prometheus;
pub use snapshot::{Latency, Snapshot, Totals};

/// The target of events.
const TARGET: &str = "bertha::metrics";
