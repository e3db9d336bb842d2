//! Bertha's connections as the I/O traits of Rust's network programs, and these traits as connections.
//!
//! | type | converts | into | feature |
//! |---|---|---|---|
//! | [`ByteStream`] | a connection of bytes | `AsyncRead` and `AsyncWrite` of tokio, so that hyper, for example, runs over any datapath | |
//! | [`ByteStream`] | a connection of bytes | the traits of these names in `futures-io` | `futures-io` |
//! | [`IoConnection`] | any `AsyncRead` and `AsyncWrite` | a connection of bytes: the base of a stack | |
//! | `Messages` | any connection | `Stream` and `Sink` | `stream` |
//! | `Requests`, `answer` | a connection whose replies come in the order of the requests | `tower::Service`, at both ends | `tower` |
//! | `rpc` | calls of `bertha_chunnels::rpc` | `tower::Service`, at both ends, with any number under way; balancing and ejection | `rpc` |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod byte_stream;
mod failure;
mod io_connection;
#[cfg(feature = "stream")]
mod messages;
#[cfg(feature = "rpc")]
pub mod rpc;
#[cfg(feature = "tower")]
mod service;

pub use byte_stream::ByteStream;
pub use io_connection::{IoBase, IoConnection, from_stream};
#[cfg(feature = "stream")]
pub use messages::Messages;
#[cfg(feature = "tower")]
pub use service::{Requests, answer};
