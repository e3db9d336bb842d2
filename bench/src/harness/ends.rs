//! The two ends of a measurement: each with a runtime, on cores of the caller's choice.

use super::cores::{self, Placement};
use crate::{Error, ErrorKind};
use std::error::Error as _;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// The longest time that one measurement takes.
const TIMEOUT: Duration = Duration::from_secs(300);

/// A runtime of the calling thread alone.
///
/// # Errors
/// [`ErrorKind::Core`] when the system refuses.
pub(crate) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

/// The outcome of `work`, or an error after five minutes: a lost datagram must not hang a measurement.
///
/// # Errors
/// [`ErrorKind::Stalled`], and those of `work`.
pub(crate) async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let done = tokio::time::timeout(TIMEOUT, work).await;
    done.map_err(Error::while_doing(ErrorKind::Stalled, "waiting for the other end"))?
}

/// Runs a server and a client, each on a thread and a runtime of its own, and returns the result of the client.
///
/// # Errors
/// [`ErrorKind::Core`] when the cores are not there; when an end fails, the error of the one that failed by itself.
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
            Ok(timed(|| {
                cores::pin(server_core)?;
                runtime()?.block_on(in_time(server()))
            }))
        });
        let client = scope.spawn(move || {
            Ok(timed(|| {
                cores::pin(client_core)?;
                runtime()?.block_on(in_time(client()))
            }))
        });
        match (cores::join(server)?, cores::join(client)?) {
            (Ok(()), Ok(outcome)) => Ok(outcome),
            (Err(End { error, .. }), Ok(_)) | (Ok(()), Err(End { error, .. })) => Err(error),
            (Err(server), Err(client)) => Err(cause(server, client)),
        }
    })
}

/// Runs a server and a client as two tasks of one runtime on the calling thread.
///
/// # Errors
/// Those of either end.
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

/// An end that failed.
#[derive(Debug)]
struct End {
    error: Error,
    at: Instant,
}

impl End {
    /// Whether its error is only that the other end is gone.
    fn was_left(&self) -> bool {
        use bertha_core::ErrorKind::{Closed, Reset, TimedOut, Unreachable};
        let source = self.error.source().and_then(|source| source.downcast_ref::<bertha_core::Error>());
        source.is_some_and(|it| matches!(it.kind(), Closed | Reset | TimedOut | Unreachable))
    }
}

/// Notes when it fails.
fn timed<T>(run: impl FnOnce() -> Result<T, Error>) -> Result<T, End> {
    run().map_err(|error| End { error, at: Instant::now() })
}

/// The cause of two failures: the error of the end that failed by itself, or else of the end that failed first, together
/// with the error of the other end.
fn cause(server: End, client: End) -> Error {
    let is_servers = match (server.was_left(), client.was_left()) {
        (false, true) => true,
        (true, false) => false,
        _ => server.at <= client.at,
    };
    let (name, first, other, second) =
        if is_servers { ("server", server, "client", client) } else { ("client", client, "server", server) };
    let doing = format!("the {name} failed, and then the {other} ({})", second.error);
    Error::new(first.error.kind(), doing).because(first.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn end(kind: bertha_core::ErrorKind, what: &'static str, at: Instant) -> End {
        let error = Error::while_doing(ErrorKind::Bertha, "moving")(bertha_core::Error::new(kind, what));
        End { error, at }
    }

    #[test]
    fn the_cause_comes_before_its_consequence_and_both_are_told() {
        use bertha_core::ErrorKind::{Closed, Exhausted, TooLarge};
        let (now, later) = (Instant::now(), Instant::now() + Duration::from_millis(1));
        for (server, client, first) in [
            (end(Exhausted, "no buffer", later), end(Closed, "the peer left", now), "the server failed"),
            (end(Closed, "the peer left", now), end(Exhausted, "no buffer", later), "the client failed"),
            (end(Exhausted, "no buffer", later), end(TooLarge, "the peer left", now), "the client failed"),
            (end(Closed, "no buffer", now), end(Closed, "the peer left", later), "the server failed"),
        ] {
            let told = cause(server, client).to_string();
            assert!(told.starts_with(first), "{told}");
            assert!(told.contains("no buffer") && told.contains("the peer left"), "{told}");
        }
    }
}
