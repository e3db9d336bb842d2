//! The daemon of typed calls: it passes calls from applications to servers of the machine and of others, and applies the operator's policies
//! to them.
//!
//! ```text
//!  caller                         daemon                          server
//!    | -- descriptor -> run ──▶ caller ──▶ engines ──▶ delivery -- descriptor ---> |
//!    |                              send heap ──── one copy ───▶ receive heap      |
//!    | <-- descriptor --- run ◀── engines ◀── caller ◀── server <-- descriptor --- |
//! ```
//!
//! `run` has the tasks of a party; `caller`, `delivery` and `server` have the ways of messages; `link` is a party: an application with its
//! heaps, or another daemon or a stranger (`peer`, `grpc`) with frames in their place; `services` finds the server of a call, and knows the
//! policies; `routing` has the peers of other machines, among which `balance` chooses.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod arguments;
mod attach;
mod balance;
mod caller;
mod calls;
mod code;
mod common;
mod daemon;
mod dedicated;
mod delivery;
mod details;
mod elsewhere;
mod end;
mod fair_queue;
mod given;
mod grpc;
mod grpc_tls;
mod handshake_turns;
mod kinds;
mod lends;
mod link;
mod lobby;
mod mappings;
mod memory;
mod metrics;
mod not_taken_counts;
mod numbered;
mod operator;
mod orders;
mod origin;
mod outbox;
mod peer;
mod peer_addr;
mod places;
mod plans;
mod refusals;
mod reserved;
mod rooms;
mod route;
mod routes;
mod routing;
mod rows;
mod run;
mod sending;
mod sends;
mod server;
mod services;
mod state;
pub mod testing;
mod text;
mod threads;
mod trial;
mod typed;
mod unix_door;
mod way;

pub use arguments::Arguments;
pub use bertha_managed::Change;
pub use daemon::{Daemon, Settings};
pub use grpc_tls::GrpcTls;
pub use operator::Operator;
pub use peer::{PeerTls, Peers};
pub use peer_addr::PeerAddr;
pub use route::Route;
pub use routes::Routes;
pub use sending::Sending;
