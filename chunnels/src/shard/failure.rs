//! The errors of a connection that consists of several connections.

use bertha_core::{Addr, Error};

/// Adds the shard to an `error`.
#[cold]
pub(super) fn of_shard(chunnel: &'static str, number: usize, addr: &Addr, error: Error) -> Error {
    let what = format!("shard {number} at {addr} failed: {}", error.context());
    let of_shard = Error::new(error.kind(), what).at(chunnel);
    let of_shard =
        if error.ends_connection() { of_shard.ending_connection() } else { of_shard.sparing_connection() };
    of_shard.because(error)
}
