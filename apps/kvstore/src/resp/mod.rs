//! The protocol of Redis (RESP2 and RESP3), for clients that are not Bertha.
//!
//! | module | what happens there |
//! |---|---|
//! | [`wire`] | without I/O: arguments and replies as bytes |
//! | `command` | arguments become a [`Command`] |
//! | [`mod@format`] | without I/O: **a stream is cut into commands** |
//! | `operation` | **a command touches the store** |
//! | `session` | one connection: bursts of commands, and their replies in pieces, while further commands are read |
//! | `routes` | operations go to the shards of their keys, on other threads too |
//! | `clients` | **a newcomer gets a place**, memory that clients share, and why connections end |
//! | `serving`, `front` | accepting clients, and listening for them |
//!
//! All commands that arrive at once are answered at once. Those of one burst whose keys belong to different shards are carried out
//! at the same time; of one shard, in their order.
//!
//! The parser is our own: of those in the registry, the best kept follows nested arrays with no limit to their depth, has none for lengths
//! either, knows no inline commands, and allocates for each argument.

mod address;
mod clients;
mod command;
mod counters;
pub(crate) mod descriptors;
pub mod format;
mod front;
mod info;
mod operation;
mod password;
mod routes;
mod serving;
mod session;
mod settings;
mod shared;
pub mod wire;

pub use address::RespAddr;
pub(crate) use clients::sweep;
pub use command::{Command, Hello, Login};
pub(crate) use counters::Counters;
pub(crate) use front::{Fronts, Sharing};
pub use operation::{Condition, Operation, Outcome};
pub use password::Password;
pub(crate) use routes::{RouteEnd, Routes, serve as serve_forwarded};
pub(crate) use serving::Clients;
pub use settings::Settings;
pub(crate) use shared::RespShared;
