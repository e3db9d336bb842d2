//! Errors of Redis, as errors of a store.

use bertha_core::{Error, ErrorKind};
use redis::RedisError;

/// Converts an error of the client library.
pub(super) fn failure(error: RedisError) -> Error {
    #[cfg(feature = "store-tls")]
    if let Some(advice) = crate::rendezvous::store::tls::advice(&error) {
        return Error::new(ErrorKind::Unauthenticated, advice).at("RedisStore").because(error);
    }
    let text = error.to_string();
    // For a command within the script, the server has no error code but one of these texts, depending on its
    // version.
    let in_script = ["NOPERM", "ACL failure in script", "The user executing the script can't"];
    let is_forbidden = error.code() == Some("NOPERM") || in_script.iter().any(|reason| text.contains(reason));
    let (kind, what) = match error.code() {
        _ if is_forbidden => (
            ErrorKind::Unauthenticated,
            "the user may not do this; give it the rights that `RedisStore` documents (ACL SETUSER)",
        ),
        Some("WRONGPASS") => {
            (ErrorKind::Unauthenticated, "the server knows no such user, or the password is wrong")
        }
        Some("NOAUTH") => {
            (ErrorKind::Unauthenticated, "the server wants a login; put user:password@ into the address")
        }
        _ if error.kind() == redis::ErrorKind::AuthenticationFailed => {
            (ErrorKind::Unauthenticated, "the server does not accept the login")
        }
        _ if error.is_io_error() || error.is_connection_dropped() || error.is_timeout() => {
            (ErrorKind::Unreachable, "the server does not answer; is it running?")
        }
        Some("EXHAUSTED") => (ErrorKind::Exhausted, "the connection has too many entries"),
        Some("WRONGTYPE") => (ErrorKind::Malformed, "the connection's key holds something else than a hash"),
        _ => (ErrorKind::Unavailable, "the server refuses"),
    };
    Error::new(kind, format!("{what} ({text})")).at("RedisStore").because(error)
}

/// Returns the error for an address or options that make no sense.
pub(super) fn misused(what: &'static str) -> Error {
    Error::new(ErrorKind::Invalid, what).at("RedisStore")
}

/// Returns the error for an answer that the script did not write.
pub(super) fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what).at("RedisStore")
}
