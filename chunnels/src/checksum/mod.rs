//! Dropping damaged messages.
//!
//! UDP's checksum has 16 bits, adds up words, and is optional over IPv4; middleboxes and network cards that
//! recompute it hide the damage that they did. [`Checksum`] puts a CRC-32 (IEEE 802.3) in front of each
//! message, little-endian. On arrival a message whose checksum is wrong is dropped and counted
//! ([`ChecksumConnection::damaged`]), so damage becomes loss, against which requests have replies and
//! [`Retry`](crate::Retry).
//!
//! ```
//! use bertha_chunnels::{Checksum, Serialize};
//! use bertha_core::make_stack;
//!
//! let stack = make_stack!(Serialize::<String>::new(), Checksum::new());
//! ```
//!
//! [`Reliable`](crate::Reliable) and secure Chunnels check their messages themselves. A checksum detects
//! damage but no forgery: an attacker that changes a message changes its checksum too.

mod chunnel;
mod connection;
#[cfg(test)]
mod tests;

pub use chunnel::Checksum;
pub use connection::ChecksumConnection;
