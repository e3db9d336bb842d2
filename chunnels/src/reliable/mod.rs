//! Reliable messages over a connection that loses, repeats, reorders and damages them.
//!
//! [`Reliable`] stands on any connection that carries [`Buf`](bertha_core::Buf)s:
//!
//! ```
//! use bertha_chunnels::Reliable;
//! use bertha_chunnels::congestion::Bbr;
//! use std::time::Duration;
//!
//! let reliable = Reliable::new().with(Bbr).idle_timeout(Duration::from_secs(10));
//! ```
//!
//! # What it promises
//!
//! Every message arrives, once and undamaged, or the connection fails. Messages arrive as soon as they can: one that was
//! lost holds up no other, so **their order is not kept**. Put [`Ordered`](crate::Ordered) above it where order matters.
//!
//! # How it works
//!
//! Packets are numbered and acknowledged selectively; round-trip time, loss and time-outs follow RFC 9002. Short messages
//! share a packet while they wait for their turn. A [congestion control](crate::congestion) sets window and rate, and
//! packets are paced. Each end tells the other how much more it may send, so both hold a bounded number of messages; see
//! [`Reliable::buffer`]. The protocol is a state machine without I/O. One task per connection moves packets between it
//! and the connection below, and ends when the connection is dropped.
//!
//! # The end
//!
//! `close` waits until the peer has everything. The peer first receives what was sent before, and then hears that the
//! connection was closed. A connection that is dropped without `close` sends nothing more, and the peer finds out by its
//! time-out unless a layer below tells it.
//!
//! # Peers that break the protocol
//!
//! Damaged packets are dropped and counted. Who acknowledges what was not sent, sends more than it was granted, contradicts
//! its own end, or never acknowledges anything is refused: calls fail with
//! [`Malformed`](bertha_core::ErrorKind::Malformed), and the peer, if it listens, with
//! [`Reset`](bertha_core::ErrorKind::Reset). From a peer that is silent they fail with
//! [`TimedOut`](bertha_core::ErrorKind::TimedOut).

mod chunnel;
mod connection;
mod machine;
pub(crate) mod settings;
mod statistics;
mod task;
pub mod wire;

pub use chunnel::Reliable;
pub use connection::ReliableConnection;
pub use statistics::Statistics;
