//! The errors of a connection that consists of several connections.

use bertha_core::{Addr, Error};

/// Adds the shard to an `error`.
#[cold]
pub(super) fn of_shard(chunnel: &'static str, number: usize, addr: &Addr, error: Error) -> Error {
    let what = format!("shard {number} at {addr} failed: {}", error.context());
    error.retold(what).at(chunnel)
}
