//! The protocol of Redis (RESP2 and RESP3), for clients that are not Bertha.
//!
//! | module | what happens there |
//! |---|---|
//! | [`wire`] | without I/O: arguments and replies as bytes |
//! | `command` | arguments become a [`Command`] |
//! | [`mod@format`] | without I/O: **a stream is cut into commands** |
//! | `operation` | **a command touches the store** |
//! | `session` | one connection: a burst of commands, and its replies in their order |
//! | `routes` | operations go to the shards of their keys, on other threads too |
//! | `front` | accepting clients |
//!
//! All commands that arrive at once are answered at once. Those of one burst whose keys belong to different shards are carried out
//! at the same time; of one shard, in their order.
//!
//! The parser is our own: of those in the registry, the best kept follows nested arrays with no limit to their depth, has none for lengths
//! either, knows no inline commands, and allocates for each argument.

mod address;
mod command;
pub mod format;
mod front;
mod operation;
mod routes;
mod session;
pub mod wire;

pub use address::RespAddr;
pub use command::Command;
pub(crate) use front::{Clients, Fronts};
pub use operation::{Condition, Operation, Outcome};
pub(crate) use routes::{End, Routes, serve as serve_forwarded};
pub(crate) use session::Counters;
