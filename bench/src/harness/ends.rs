//! The two ends of a measurement: each with a runtime, on cores of the caller's choice.

use super::cores::{self, Placement};
use crate::{Error, ErrorKind};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Longest time of a measurement.
const TIMEOUT: Duration = Duration::from_secs(300);

/// Returns a runtime of the calling thread alone.
///
/// # Errors
/// [`ErrorKind::Core`] when the system refuses.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

/// Returns the outcome of `work`, or an error after five minutes: a lost datagram must not hang a
/// measurement.
///
/// # Errors
/// [`ErrorKind::Stalled`], and errors of `work`.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let done = tokio::time::timeout(TIMEOUT, work).await;
    done.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for the other end"))?
}

/// Runs a server and a client, each on a thread and a runtime of its own, and returns the result of the client.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there; the error of the end that failed, or both.
pub(crate) fn meet<S, C, T>(
    placement: Placement,
    server: impl FnOnce() -> S + Send,
    client: impl FnOnce() -> C + Send,
) -> Result<T, Error>
where
    S: Future<Output = Result<(), Error>>,
    C: Future<Output = Result<T, Error>>,
    T: Send,
{
    let (client_core, server_core) = placement.cores()?;
    std::thread::scope(|scope| {
        let server = scope.spawn(move || {
            cores::pin(server_core)?;
            runtime()?.block_on(in_time(server()))
        });
        let client = scope.spawn(move || {
            cores::pin(client_core)?;
            runtime()?.block_on(in_time(client()))
        });
        match (cores::join(server), cores::join(client)) {
            (served, Ok(outcome)) => served.map(|()| outcome),
            (Ok(()), Err(error)) => Err(error),
            // One error is the cause, and the other a consequence.
            (Err(server), Err(client)) => {
                let both = format!("the client failed ({client}), and the server");
                Err(Error::new(client.kind(), both).because(server))
            }
        }
    })
}

/// Runs a server and a client as two tasks of a runtime on the calling thread.
///
/// # Errors
/// Errors of either end.
pub(crate) fn meet_on_one_runtime<T>(
    server: impl Future<Output = Result<(), Error>> + Send + 'static,
    client: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    runtime()?.block_on(in_time(async {
        let server = tokio::spawn(server);
        let outcome = client.await?;
        server.await.map_err(Error::while_doing(ErrorKind::Core, "ending the server"))??;
        Ok(outcome)
    }))
}
