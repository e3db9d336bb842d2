//! Errors of Redis, as errors of a store.

use bertha_core::{Error, ErrorKind};
use redis::RedisError;

/// The error for one of the client library.
pub(super) fn failure(error: RedisError) -> Error {
    let (kind, what) = match error.code() {
        _ if error.is_io_error() || error.is_connection_dropped() || error.is_timeout() => {
            (ErrorKind::Unreachable, "the server does not answer; is it running?")
        }
        Some("EXHAUSTED") => (ErrorKind::Exhausted, "the connection has too many entries"),
        Some("WRONGTYPE") => (ErrorKind::Malformed, "the connection's key holds something else than a hash"),
        _ => (ErrorKind::Unavailable, "the server refuses"),
    };
    Error::new(kind, format!("{what} ({error})")).at("RedisStore").because(error)
}

/// The error for an answer that the script did not write.
pub(super) fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what).at("RedisStore")
}
