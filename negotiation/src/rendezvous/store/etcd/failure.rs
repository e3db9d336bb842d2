//! Errors of etcd, as errors of a store.

use bertha_core::{Error, ErrorKind};
use std::error::Error as _;
use std::io;
use std::time::Duration;

/// The time limit of each answer of the cluster.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// gRPC's status codes, with the numbers of its specification.
const DEADLINE_EXCEEDED: i32 = 4;
const INVALID_ARGUMENT: i32 = 3;
const NOT_FOUND: i32 = 5;
const PERMISSION_DENIED: i32 = 7;
const UNAVAILABLE: i32 = 14;
const UNAUTHENTICATED: i32 = 16;

/// The text for a connection that the cluster ended. With TLS 1.3 the cluster ends it after this end takes it
/// for established, and the client library drops the reason.
const ENDED: &str = "the connection to the cluster failed; if that wants a certificate of its users, give one that it trusts (`cert` and `key`)";

/// Returns the result of `call`, or an error if there is none within [`ANSWER_TIMEOUT`].
pub(super) async fn in_time<T>(
    call: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, Error> {
    // The client library's futures are so large that a few of them fill a thread's stack.
    let call = Box::pin(call);
    tokio::time::timeout(ANSWER_TIMEOUT, call).await.unwrap_or_else(|_| Err(late())).map_err(failure)
}

/// Returns the error for a missing answer.
pub(super) fn late() -> etcd_client::Error {
    etcd_client::Error::IoError(io::ErrorKind::TimedOut.into())
}

/// Converts an error of the client library.
pub(super) fn failure(error: etcd_client::Error) -> Error {
    use etcd_client::Error as E;
    #[cfg(feature = "store-tls")]
    if let Some(advice) = crate::rendezvous::store::tls::advice(cause(&error)) {
        return Error::new(ErrorKind::Unauthenticated, advice).at("EtcdStore").because(error);
    }
    let (kind, what) = match &error {
        E::IoError(_) | E::TransportError(_) | E::WatchError(_) => {
            (ErrorKind::Unreachable, "the cluster does not answer; is it running?")
        }
        E::GRpcStatus(status) => match status.code() as i32 {
            // A failure of the connection has a source; an error of the cluster itself has none.
            UNAVAILABLE | DEADLINE_EXCEEDED => {
                (ErrorKind::Unreachable, "the cluster does not answer; is it running?")
            }
            PERMISSION_DENIED => (
                ErrorKind::Unauthenticated,
                "the user may not do this; give it the role that `EtcdStore` documents",
            ),
            UNAUTHENTICATED => (ErrorKind::Unauthenticated, "the cluster no longer accepts the login"),
            // Among all requests, only requests without a login or with a wrong login have such arguments.
            INVALID_ARGUMENT if says_who(status.message()) => (
                ErrorKind::Unauthenticated,
                "the cluster wants a login, or knows no such user, or the password is wrong",
            ),
            _ if status.source().is_some() => (ErrorKind::Unreachable, ENDED),
            _ => (ErrorKind::Unavailable, "the cluster refuses"),
        },
        E::InvalidUri(_) | E::InvalidArgs(_) | E::EndpointError(_) => {
            (ErrorKind::Invalid, "the address has to be etcd://host:port")
        }
        _ => (ErrorKind::Unavailable, "the cluster refuses"),
    };
    Error::new(kind, format!("{what} ({error})")).at("EtcdStore").because(error)
}

/// Returns the error itself, or the error inside it, which the client library does not show as its source.
#[cfg(feature = "store-tls")]
fn cause(error: &etcd_client::Error) -> &(dyn std::error::Error + 'static) {
    match error {
        etcd_client::Error::GRpcStatus(status) => status,
        etcd_client::Error::TransportError(error) => error,
        error => error,
    }
}

/// Returns true if a message of the cluster is about its users.
fn says_who(message: &str) -> bool {
    message.contains("authentication failed") || message.contains("user name is empty")
}

/// Returns true if a transaction failed since the lease that it names has expired.
pub(super) fn says_no_lease(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<etcd_client::Error>());
    matches!(source, Some(etcd_client::Error::GRpcStatus(status)) if status.code() as i32 == NOT_FOUND)
}

/// Returns the error for an entry that this store did not write.
pub(super) fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what).at("EtcdStore")
}
