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
//! A caller comes in at one of the `doors`, and its calls go their way in `calling`, by the rooms below: each uses those under it alone.
//!
//! | room | contents |
//! |---|---|
//! | `program` | the command line, and the daemon that it starts |
//! | `operators` | the orders of operators, and the counts that they see |
//! | `doors` | the sockets and ports: applications attach there, other daemons (`peer`) and strangers (`grpc`) connect |
//! | `calling` | the tasks of a party, and the way of its calls |
//! | `state` | the settings and services that all parties have in common |
//! | `admission` | the certificates of gRPC, and the parties that are not taken |
//! | `libraries` | the kinds of engines |
//! | `destinations` | the server of a call, on this machine or at the end of a route |
//! | `parties` | a party, with its calls: an application with its heaps, or another daemon or a stranger with frames in their place |
//! | `failures` | the codes, texts and details of failures |
//! | `schemas` | the schemas of services, with their plans |
//! | `messages` | the messages of parties, in heaps and as frames |

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

mod admission;
mod calling;
mod destinations;
mod doors;
mod failures;
mod libraries;
mod messages;
mod operators;
mod parties;
mod program;
mod schemas;
mod state;
pub mod testing;

pub use admission::grpc_tls::GrpcTls;
pub use bertha_managed::Change;
pub use destinations::peer_addr::PeerAddr;
pub use destinations::route::Route;
pub use destinations::route_list::Routes;
pub use doors::peer::{PeerTls, Peers};
pub use messages::rows::sending::Sending;
pub use operators::operator::Operator;
pub use program::arguments::Arguments;
pub use program::daemon::{Daemon, Settings};
