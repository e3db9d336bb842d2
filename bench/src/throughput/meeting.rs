//! Two threads, each with a core and a runtime of its own.

use crate::cores::{self, Placement};
use crate::{Error, ErrorKind};
use std::error::Error as _;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

/// No measurement takes longer.
const PATIENCE: Duration = Duration::from_secs(300);

/// Runs a server, which says where it is once it is ready, and a client, whose result is returned.
pub(super) fn meet<At, T>(
    server: impl AsyncFnOnce(SyncSender<At>) -> Result<(), Error> + Send,
    client: impl AsyncFnOnce(At) -> Result<T, Error> + Send,
) -> Result<T, Error>
where
    At: Send,
    T: Send,
{
    let (client_core, server_core) = Placement::AcrossCores.cores()?;
    std::thread::scope(|scope| {
        let (tell, told) = sync_channel(1);
        let server = scope.spawn(move || {
            Ok(timed(|| {
                cores::pin(server_core)?;
                runtime()?.block_on(in_time(server(tell)))
            }))
        });
        let client = scope.spawn(move || {
            Ok(timed(|| {
                cores::pin(client_core)?;
                match told.recv() {
                    Ok(at) => runtime()?.block_on(in_time(client(at))),
                    Err(_) => Err(Error::new(ErrorKind::Socket, "the server did not start")),
                }
            }))
        });
        match (cores::join(server)?, cores::join(client)?) {
            (Ok(()), Ok(outcome)) => Ok(outcome),
            (Err(End { error, .. }), Ok(_)) | (Ok(()), Err(End { error, .. })) => Err(error),
            (Err(server), Err(client)) => Err(cause(server, client)),
        }
    })
}

/// An end that failed.
#[derive(Debug)]
struct End {
    error: Error,
    at: Instant,
}

impl End {
    /// Whether it only heard that the other end is gone.
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

/// Why both ends have failed: the error of the one that did not just hear of the other's end, or else of the one that failed
/// first; with what the other one says.
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

pub(super) fn runtime() -> Result<Runtime, Error> {
    Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

async fn in_time<T>(work: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let done = tokio::time::timeout(PATIENCE, work).await;
    done.map_err(Error::while_doing(ErrorKind::Stalled, "moving files"))?
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
