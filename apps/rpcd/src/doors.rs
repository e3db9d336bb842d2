//! The doors of the daemon: the sockets of applications, the ports for other daemons and for gRPC, and the bounds of what comes in there.
//!
//! A Unix socket is a `unix_door`, whose newcomers are in the `lobby` until `attach` makes them parties. `limits` says how many connections a
//! port takes, and `port_room` which of them makes room for a newcomer.

pub(crate) mod attach;
pub(crate) mod grpc;
pub(crate) mod handshake_turns;
pub(crate) mod limits;
pub(crate) mod lobby;
pub(crate) mod peer;
pub(crate) mod port_room;
pub(crate) mod unix_door;
