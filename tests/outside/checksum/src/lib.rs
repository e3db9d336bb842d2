//! A [Bertha](bertha_core) Chunnel that drops damaged messages.
//!
//! UDP's checksum has 16 bits, adds up words, and is optional. [`Checksum`] puts a CRC-32 in front of each message,
//! which finds every burst of up to 32 wrong bits. On arrival the Chunnel checks and removes the CRC-32.
//!
//! ```
//! use bertha_chunnel_checksum::Checksum;
//! use bertha_core::{Describe, make_stack};
//!
//! let stack = make_stack!(Checksum::new());
//! assert_eq!(stack.explain().to_string(), "Checksum");
//! ```
//!
//! | needs below | gives above | promises | header | version on the wire |
//! |---|---|---|---|---|
//! | messages in bytes | messages in bytes | `IntegrityChecked` | 4 bytes | 1 |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod burst;
mod chunnel;
mod connection;

pub use chunnel::Checksum;
pub use connection::ChecksumConnection;
