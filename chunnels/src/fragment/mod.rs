//! Messages of up to 64 MiB over a connection whose messages are short.
//!
//! [`Fragment`] sends a message that fits as it is, with one byte in front, and any other in pieces that the receiver puts
//! together. Layers above see the larger limit as the connection's [`mtu`](bertha_core::Connection::mtu).
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
//! # The path's MTU
//!
//! With [`Fragment::discover_path`] it finds out what the path carries, by probes which the peer answers (RFC 8899). It starts
//! with messages of 1,200 bytes, headers of the layers below included, tries common sizes first, and ends within 3 % of what
//! the path carries, seconds later where common sizes suffice. While messages are sent the size is confirmed every fifteen
//! seconds, so messages that a changed path no longer carries are lost for half a minute at most; every ten minutes larger sizes are
//! tried again. Each end may choose for its own direction; either answers probes.
//!
//! Put it where datagrams leave, and below [`Reliable`](crate::Reliable) if there is one, which then repeats what was lost in
//! pieces of the new size:
//!
//! ```
//! # use bertha_chunnels::{Fragment, Ordered, Reliable};
//! # use bertha_core::make_stack;
//! let stack = make_stack!(Ordered::new(), Reliable::new(), Fragment::new().discover_path());
//! ```
//!
//! Probes are answered, and their answers noticed, by `recv`: at an end that receives nothing the size in use stays as it is, and
//! towards a peer that receives nothing it falls to 512 bytes. The datapath must not let the network fragment datagrams
//! (`Udp::keep_whole` of the kernel's), else a larger size is found than goes in one piece.
//!
//! # Memory
//!
//! Messages that are not complete occupy at most three times the limit and 8 MiB ([`Fragment::assembly`]), their records
//! included. A message that would exceed that takes the place of the one that was begun first, which is dropped and counted
//! ([`FragmentConnection::abandoned`]). One end sends one message in pieces at a time, and `Reliable` hands on only so many
//! pieces before one that was sent earlier: with the settings that both have at first no message is dropped above it.
//!
//! A peer whose pieces contradict each other (in length, size or content; exact repetitions are normal), or whose message
//! exceeds the limit that both ends agreed on, is refused: from then on `recv` fails with
//! [`Malformed`](bertha_core::ErrorKind::Malformed).

mod assembly;
mod chunnel;
mod connection;
mod discovery;
mod path;
mod piece;
mod pieces;
#[cfg(test)]
mod tests;

pub use chunnel::Fragment;
pub use connection::FragmentConnection;
