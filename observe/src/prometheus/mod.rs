//! A collector of the crate `prometheus`: the connections, layers and listeners of this process, and the
//! counters of [`Metrics`](bertha_chunnels::Metrics).
//!
//! ```
//! use bertha_observe::prometheus::Collector;
//! use prometheus::{Encoder, Registry, TextEncoder};
//!
//! // Before the first connection:
//! let registry = Registry::new();
//! registry.register(Box::new(Collector::new()))?;
//! // When Prometheus asks:
//! let mut text = Vec::new();
//! TextEncoder::new().encode(&registry.gather(), &mut text)?;
//! # assert!(String::from_utf8(text).expect("UTF-8").contains("bertha_connections_ended_total 0"));
//! # Ok::<(), prometheus::Error>(())
//! ```
//!
//! # Names
//!
//! | name | labels | meaning |
//! |---|---|---|
//! | `bertha_connections_open` | `stack` | connections at this moment |
//! | `bertha_connections_ended_total` | | connections that have ended |
//! | `bertha_dropped_messages_total` | `layer`, `reason` | messages that this end dropped |
//! | `bertha_LAYER_VALUE_total`, `bertha_LAYER_VALUE_bytes_total` | | sum over all connections, also over those that have ended |
//! | `bertha_LAYER_VALUE`, with `_bytes`, `_seconds`, `_bytes_per_second` | `over_connections`: `mean`, `least`, `greatest` | state at this moment |
//! | `bertha_LAYER_VALUE_connections` | | connections for which a state of yes or no holds |
//! | `bertha_listener_VALUE`, `bertha_listener_VALUE_total` | `listener`: the address | clients of a listener |
//! | `bertha_listener_refused_total` | `listener`, `reason` | clients that got no connection |
//! | `bertha_messages_total`, `bertha_bytes_total`, `bertha_errors_total` | `position`, `direction` | of a `Metrics` |
//! | `bertha_position_connections`, `bertha_send_seconds` | `position` | of a `Metrics`: a gauge, and a histogram |
//!
//! `LAYER` and `VALUE` are those of [`Statistics`](bertha_core::Statistics): `bertha_reliable_packets_lost_total`.
//! The state of a socket or port that several connections share counts once, and its totals end with its last
//! connection. A series has no address of a peer in its labels, so their number does not grow with the clients.

mod collector;
mod families;
mod layers;
mod listeners;
mod positions;
mod read_metric;
#[cfg(test)]
mod tests;

pub use collector::Collector;
pub use read_metric::{ReadMetric, Value};
