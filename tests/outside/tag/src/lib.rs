//! A [Bertha](bertha_core) Chunnel that drops stray messages.
//!
//! An address may have belonged to another application, whose messages still arrive. [`Tag`] puts a number in
//! front of each message, and drops messages with another number.
//!
//! ```
//! use bertha_chunnel_tag::Tag;
//! use bertha_core::{Describe, make_stack};
//!
//! let stack = make_stack!(Tag::new(7));
//! assert_eq!(stack.explain().to_string(), "Tag");
//! ```
//!
//! | needs below | gives above | header | version on the wire |
//! |---|---|---|---|
//! | messages in bytes | messages in bytes | 4 bytes, little-endian | 1 |

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod chunnel;
mod connection;

pub use chunnel::Tag;
pub use connection::TagConnection;
