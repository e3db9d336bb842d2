//! Smaller messages, with LZ4.
//!
//! [`Compress`] compresses each message by itself, so none waits for another and any may be lost. What does not get
//! smaller is sent as it is, with one byte in front; so is what is too short to be worth a try ([`Compress::at_least`]) or
//! larger than the [limit](Compress::limit).
//!
//! ```
//! use bertha_chunnels::{Compress, Fragment, Nothing, Ordered, Reliable};
//! use bertha_core::{make_stack, select};
//!
//! // The two ends agree on whether to compress.
//! let stack = make_stack!(select!(Compress::new(), Nothing), Ordered::new(), Fragment::new(), Reliable::new());
//! ```
//!
//! Put it above a Chunnel that encrypts, since what is encrypted can't be compressed. But think first of who chooses
//! what is in a message: the length of a compressed message tells whoever watches whether a text that an attacker chose
//! stands in it a second time, and so in time a secret that is in the same message (CRIME, BREACH).
//!
//! # Why LZ4
//!
//! The decoder is small, is written in Rust without `unsafe`, needs no C compiler, and takes less time than most links take to
//! carry what is saved. zstd makes text a third smaller than LZ4 does, at several times the work; a peer's application that
//! wants it can compress for itself.
//!
//! # What a peer can do
//!
//! A compressed message says how long it will be. That is believed only up to the limit on which the two ends agreed, and
//! never beyond what a block of its size can hold (255 times its size), so a message costs at most that much memory, for as long
//! as it is decompressed. One that claims more, and one that is not what it claims to be, is dropped and counted
//! ([`CompressConnection::refused`]).

mod chunnel;
mod connection;
pub mod frame;
#[cfg(test)]
mod tests;

pub use chunnel::Compress;
pub use connection::CompressConnection;
