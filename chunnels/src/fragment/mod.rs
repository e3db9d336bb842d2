//! Messages of up to 64 MiB over a connection whose messages are short.
//!
//! [`Fragment`] sends a message that fits as it is, with one byte in front, and any other message in pieces
//! that the receiver joins. Layers above see the larger limit as the connection's
//! [`mtu`](bertha_core::Connection::mtu).
//!
//! ```
//! use bertha_chunnels::{Fragment, Ordered, Reliable};
//! use bertha_core::make_stack;
//!
//! let stack = make_stack!(Ordered::new(), Fragment::new(), Reliable::new());
//! ```
//!
//! It gives no guarantee itself: over a connection that loses messages, one lost piece loses the whole
//! message. Above [`Reliable`](crate::Reliable) every message arrives. The connection below has to keep
//! messages undamaged, as UDP and `Reliable` do.
//!
//! # The size of pieces
//!
//! A piece is as large as the connection below carries at the moment, at most 1,300 bytes, which pass almost every path without
//! fragmentation by the network; [`Fragment::piece`] sets another bound.
//!
//! # The path's MTU
//!
//! With [`Fragment::discover_path`] it discovers the MTU of the path by probes that the peer acknowledges
//! (RFC 8899). It starts with messages of 1,200 bytes, headers of the layers below included, tries common
//! sizes first, and ends within 3 % of the path's MTU, after seconds where common sizes suffice. While
//! messages are sent the size is confirmed every fifteen seconds, so messages that a changed path no longer
//! carries are lost for half a minute at most; every ten minutes larger sizes are tried again. Each end may
//! choose discovery for its own direction; both ends acknowledge probes.
//!
//! Put it at the bottom of the stack, and below [`Reliable`](crate::Reliable) if there is one, which then repeats lost messages in
//! pieces of the new size:
//!
//! ```
//! # use bertha_chunnels::{Fragment, Ordered, Reliable};
//! # use bertha_core::make_stack;
//! let stack = make_stack!(Ordered::new(), Reliable::new(), Fragment::new().discover_path());
//! ```
//!
//! Probes and acknowledgements are handled in `recv`: at an end that never calls `recv` the size in use stays
//! as it is, and towards a peer that never calls `recv` the size falls to 512 bytes. The datapath must not
//! let the network fragment datagrams (`Udp::keep_whole` of the kernel datapath), or the discovered size is
//! larger than the path carries whole.
//!
//! # Memory
//!
//! Of each connection at most 8,192 messages are incomplete at a time ([`Fragment::incomplete`]), and occupy
//! at most three times the limit and 8 MiB ([`Fragment::assembly`]), their records included. A message beyond
//! these bounds evicts the oldest message, which is dropped and counted ([`FragmentConnection::abandoned`]);
//! so is a message that has waited for its next piece for 60 seconds ([`Fragment::expiry`]). An end sends one
//! message in pieces at a time, and `Reliable` delivers a bounded number of later pieces before an earlier
//! piece: with the default settings of both Chunnels no message is evicted above `Reliable`.
//!
//! All connections of a listener share 1 GiB ([`Fragment::memory`]). When it is full, the connection that
//! holds most drops its oldest message. A message of more than 64 KiB gets its memory when a sixteenth of it
//! has arrived, so a peer has to send a part of the bytes for which a server is to hold memory.
//!
//! A peer whose pieces contradict each other (in length, size or content; exact repetitions are normal), or whose message
//! exceeds the limit that both ends agreed on, is refused: from then on `recv` fails with
//! [`Malformed`](bertha_core::ErrorKind::Malformed).
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`limit`](Fragment::limit), the same at both ends | 64 MiB |
//! | [`piece`](Fragment::piece) | 1,300 bytes; with path discovery 65,535 |
//! | [`discover_path`](Fragment::discover_path) | off |
//! | [`assembly`](Fragment::assembly) | 8 MiB |
//! | [`incomplete`](Fragment::incomplete) | 8,192 messages |
//! | [`expiry`](Fragment::expiry) | 60 seconds |
//! | [`memory`](Fragment::memory), of all connections | 1 GiB |

mod age;
mod assembly;
mod budget;
mod chunnel;
mod connection;
mod discovery;
mod partial;
mod path;
mod piece;
mod pieces;
mod settings;
mod statistics;
#[cfg(test)]
mod tests;

pub use chunnel::Fragment;
pub use connection::FragmentConnection;
pub use statistics::FragmentStatistics;

/// The target of the events for `tracing`.
const TARGET: &str = "bertha::fragment";
