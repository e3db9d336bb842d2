//! Errors of Redis, as errors of a queue.

use bertha_core::{Error, ErrorKind};
use redis::{RedisError, ServerErrorKind};
use std::borrow::Cow;

pub(crate) fn failure(error: RedisError) -> Error {
    #[cfg(feature = "redis-tls")]
    if let Some(advice) = super::tls::advice(&error) {
        return Error::new(ErrorKind::Unauthenticated, format!("{advice} ({error})"))
            .at("RedisStreams")
            .because(error);
    }
    let text = error.to_string();
    // For a command within a script or a transaction there is no code but one of these texts, depending on
    // the server's version.
    let in_script = ["NOPERM", "NoPerm", "ACL failure in script", "The user executing the script can't"];
    let (kind, what) = match error.code() {
        code if code == Some("NOPERM") || in_script.iter().any(|reason| text.contains(reason)) => (
            ErrorKind::Unauthenticated,
            "the user may not do this; give it the rights that `RedisStreams` documents (ACL SETUSER)",
        ),
        Some("WRONGPASS") => (
            ErrorKind::Unauthenticated,
            "the server knows no such user, or the password in the address is wrong",
        ),
        Some("NOAUTH") => {
            (ErrorKind::Unauthenticated, "the server wants a login; put user:password@ into the address")
        }
        _ if error.kind() == redis::ErrorKind::AuthenticationFailed => {
            (ErrorKind::Unauthenticated, "the server does not accept the login in the address")
        }
        Some("OOM") => (ErrorKind::Exhausted, "the server has no memory left for messages"),
        Some("NOGROUP") => (ErrorKind::Invalid, "the topic or the subscription is gone; create it"),
        Some("WRONGTYPE") => (ErrorKind::Invalid, "the topic's key holds something else than a stream"),
        _ if error.is_io_error() || error.is_connection_dropped() || error.is_timeout() => {
            (ErrorKind::Unreachable, "the server does not answer; is it running?")
        }
        _ if is_passing(&error) => (ErrorKind::Unreachable, "the server can't do this at the moment"),
        _ => (ErrorKind::Invalid, "the server refuses"),
    };
    Error::new(kind, format!("{what} ({text})")).at("RedisStreams").because(error)
}

fn is_passing(error: &RedisError) -> bool {
    use ServerErrorKind as S;
    let passing = [S::BusyLoading, S::TryAgain, S::ClusterDown, S::MasterDown, S::ReadOnly];
    error.code() == Some("BUSY")
        || matches!(error.kind(), redis::ErrorKind::Server(kind) if passing.contains(&kind))
}

pub(crate) fn invalid(what: impl Into<Cow<'static, str>>) -> Error {
    Error::new(ErrorKind::Invalid, what).at("RedisStreams")
}

pub(crate) fn no_topic(topic: &str) -> Error {
    invalid(format!("there is no topic `{topic}`; create it"))
}
