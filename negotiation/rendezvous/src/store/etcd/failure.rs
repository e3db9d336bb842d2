//! Errors of etcd, as errors of a store.

use bertha_core::{Error, ErrorKind};
use std::error::Error as _;
use std::io;
use std::time::Duration;

/// The time limit of each answer of the cluster.
pub(super) const ANSWER_TIMEOUT: Duration = Duration::from_secs(2);

/// gRPC's status codes, by the numbers of its specification.
const DEADLINE_EXCEEDED: i32 = 4;
const NOT_FOUND: i32 = 5;
const UNAVAILABLE: i32 = 14;

/// The result of `call`, or an error if there is none within [`ANSWER_TIMEOUT`].
pub(super) async fn in_time<T>(
    call: impl Future<Output = Result<T, etcd_client::Error>>,
) -> Result<T, Error> {
    tokio::time::timeout(ANSWER_TIMEOUT, call).await.unwrap_or_else(|_| Err(late())).map_err(failure)
}

/// The error when there is no answer.
pub(super) fn late() -> etcd_client::Error {
    etcd_client::Error::IoError(io::ErrorKind::TimedOut.into())
}

/// The error for one of the client library.
pub(super) fn failure(error: etcd_client::Error) -> Error {
    use etcd_client::Error as E;
    let (kind, what) = match &error {
        E::IoError(_) | E::TransportError(_) | E::WatchError(_) => {
            (ErrorKind::Unreachable, "the cluster does not answer; is it running?")
        }
        E::GRpcStatus(status) => match status.code() as i32 {
            // A failure of the connection has a source; an error of the cluster itself has none.
            UNAVAILABLE | DEADLINE_EXCEEDED => {
                (ErrorKind::Unreachable, "the cluster does not answer; is it running?")
            }
            _ if status.source().is_some() => {
                (ErrorKind::Unreachable, "the connection to the cluster failed")
            }
            _ => (ErrorKind::Unavailable, "the cluster refuses"),
        },
        E::InvalidUri(_) | E::InvalidArgs(_) | E::EndpointError(_) => {
            (ErrorKind::Invalid, "the address has to be etcd://host:port")
        }
        _ => (ErrorKind::Unavailable, "the cluster refuses"),
    };
    Error::new(kind, format!("{what} ({error})")).at("EtcdStore").because(error)
}

/// Whether a transaction failed since the lease that it names has expired.
pub(super) fn says_no_lease(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<etcd_client::Error>());
    matches!(source, Some(etcd_client::Error::GRpcStatus(status)) if status.code() as i32 == NOT_FOUND)
}

/// The error for an entry that this store did not write.
pub(super) fn malformed(what: &'static str) -> Error {
    Error::new(ErrorKind::Malformed, what).at("EtcdStore")
}
