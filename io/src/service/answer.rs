//! The end that answers.

use bertha_core::{Connection, Error, ErrorKind};
use std::future::poll_fn;
use tower_service::Service;

/// Answers each request of `connection` with the reply of `service`, one after the other, until the peer
/// closes. The connection has to be ordered, since the peer matches replies to requests by their order.
///
/// Messages that arrive malformed are skipped. If the future is dropped, the request under way gets no reply.
///
/// # Errors
/// The errors of the connection, except [`Closed`](ErrorKind::Closed), and an error of the service: for a
/// request that the service can't answer it has to return a reply that says so, else the peer would take the
/// reply to the next request for it.
pub async fn answer<C, S>(connection: &C, mut service: S) -> Result<(), Error>
where
    C: Connection,
    S: Service<C::Data, Response = C::Data, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
{
    loop {
        let request = match connection.recv().await {
            Ok(request) => request,
            Err(error) if error.kind() == ErrorKind::Closed => return Ok(()),
            Err(error) if error.kind().may_pass() => continue,
            Err(error) => return Err(error),
        };
        poll_fn(|cx| service.poll_ready(cx)).await.map_err(failed)?;
        connection.send(service.call(request).await.map_err(failed)?).await?;
    }
}

#[cold]
fn failed(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Error {
    let error = error.into();
    Error::new(ErrorKind::Closed, format!("the service has failed: {error}")).because(error)
}
