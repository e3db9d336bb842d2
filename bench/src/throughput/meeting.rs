//! Two threads, each with a core and a runtime of its own.

use crate::cores::{self, Placement};
use crate::{Error, ErrorKind};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;
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
            cores::pin(server_core)?;
            runtime()?.block_on(in_time(server(tell)))
        });
        let client = scope.spawn(move || {
            cores::pin(client_core)?;
            match told.recv() {
                Ok(at) => runtime()?.block_on(in_time(client(at))),
                Err(_) => Err(Error::new(ErrorKind::Socket, "the server did not start")),
            }
        });
        let outcome = cores::join(client);
        // What the server says of its own failure explains the client's.
        cores::join(server).and(outcome)
    })
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
