//! Compression of messages, with LZ4.
//!
//! [`Compress`] compresses each message by itself, so no message waits for another and any message may be
//! lost. A message that does not get smaller is stored uncompressed behind one byte; so is a message shorter
//! than [`Compress::at_least`] or longer than the [limit](Compress::limit).
//!
//! ```
//! use bertha_chunnels::{Compress, Fragment, Nothing, Ordered, Reliable};
//! use bertha_core::{make_stack, select};
//!
//! // The two ends agree on whether to compress.
//! let stack = make_stack!(select!(Compress::new(), Nothing), Ordered::new(), Fragment::new(), Reliable::new());
//! ```
//!
//! Put it above a Chunnel that encrypts, since encrypted messages can't be compressed. Do not compress a
//! message that holds both a secret and text that an attacker can choose: its length shows if the text
//! repeats a part of the secret (CRIME, BREACH).
//!
//! # Why LZ4
//!
//! The decoder is small, is written in Rust without `unsafe`, needs no C compiler, and takes less time than most links need for
//! the saved bytes. zstd makes text a third smaller than LZ4 does, at several times the cost; an application that
//! wants it can compress by itself.
//!
//! # Hostile peers
//!
//! A compressed message states its decompressed length. The receiver trusts it up to the limit on which the
//! two ends agreed, and up to 255 times the compressed length, the maximum of LZ4; so a message takes at most
//! that much memory while it is decompressed. A message that states more, or that does not decompress to its
//! stated length, is dropped and counted ([`CompressConnection::refused`]).
//!
//! # Defaults
//!
//! | setting | default |
//! |---|---|
//! | [`at_least`](Compress::at_least) | 64 bytes |
//! | [`limit`](Compress::limit), the same at both ends | 16 MiB |

mod chunnel;
mod connection;
pub mod frame;
mod statistics;
#[cfg(test)]
mod tests;

pub use chunnel::Compress;
pub use connection::CompressConnection;
pub use statistics::CompressStatistics;
