//! Messages of up to 64 MiB over a connection whose messages are short.
//!
//! [`Fragment`] sends a message that fits as it is, with one byte in front, and any other in pieces that the receiver puts
//! together. Layers above see the larger limit as the MTU of the connection's [`base`](bertha_core::Connection::base).
//!
//! ```
//! use bertha_chunnels::{Fragment, Ordered, Reliable};
//! use bertha_core::make_stack;
//!
//! let stack = make_stack!(Ordered::new(), Fragment::new(), Reliable::new());
//! ```
//!
//! It promises nothing itself: over a connection that loses messages, one lost piece loses the whole. Above
//! [`Reliable`](crate::Reliable) everything arrives. The connection below has to keep messages undamaged, as UDP and
//! `Reliable` do.
//!
//! # How large the pieces are
//!
//! As large as the connection below carries at that moment, at most 1,300 bytes, which pass almost every path without being
//! fragmented by the network; [`Fragment::piece`] sets another bound.
//!
//! # Memory
//!
//! Messages that are not complete occupy at most three times the limit, their records included. A message that would exceed
//! that takes the place of the one that was begun first, which is dropped and counted
//! ([`FragmentConnection::abandoned`]). One end sends one message in pieces at a time, so over `Reliable` no message that
//! is still to be completed is ever dropped.
//!
//! A peer whose pieces contradict each other (in length, size or content; exact repetitions are normal), or whose message
//! exceeds the limit that both ends agreed on, is refused: from then on `recv` fails with
//! [`Malformed`](bertha_core::ErrorKind::Malformed).

mod assembly;
mod base;
mod chunnel;
mod connection;
mod piece;
mod pieces;
#[cfg(test)]
mod tests;

pub use base::FragmentBase;
pub use chunnel::Fragment;
pub use connection::FragmentConnection;
