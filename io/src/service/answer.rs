//! The end that answers.

use bertha_core::{Base, Connection, Error, ErrorKind, Runtime};
use std::future::poll_fn;
use std::time::Duration;
use tower_service::Service;

/// The pause after an error that the connection survives, so that a resource which is used up can come back.
const PAUSE: Duration = Duration::from_millis(1);

/// Answers each request of `connection` with the reply of `service`, one after the other, until the peer closes. The connection has to be
/// ordered, for the peer tells replies by their order.
///
/// An error that [the connection survives](Error::ends_connection) is passed over after a moment. If the future is dropped, the request that is being answered gets no reply.
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
            Err(error) if error.ends_connection() => return Err(error),
            Err(_) => {
                let runtime = connection.base().runtime();
                runtime.sleep_until(runtime.now() + PAUSE).await;
                continue;
            }
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
