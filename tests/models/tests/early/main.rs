//! The first flight under a model checker: the client and the server of production, over a network that
//! repeats, reorders and loses handshake messages.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod checks;
mod client;
mod state;
