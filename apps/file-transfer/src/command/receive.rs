//! The subcommand `file-transfer receive`.

use super::carriage::{Carriage, Task};
use bertha::prelude::*;
use bertha::{Addr, Base, ErrorKind, Negotiated, Settings};
use bertha_file_transfer::{Error, Message, Receiver};
use bertha_program::tls::ServerOptions;
use bertha_program::{Termination, Watched, Watching, exposure, say};
use clap::Args;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Longest time of the closes at the end.
const CLOSING: Duration = Duration::from_secs(1);

/// Largest number of senders at a time. A further sender takes the place of a silent connection of the network that
/// has the most, or is refused, as [`Settings::connections`] says.
const CONNECTIONS: usize = 1_000;

/// Largest number of senders whose tasks are under way: those of the connections, and tasks that are about to end.
const TASKS: u32 = u32::MAX >> 3;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The folder; it has to exist
    ///
    /// A file that was received here before is not sent again. The receiver takes it for unchanged while its
    /// length, number and times are, and otherwise reads it again and compares digests. The time of the last
    /// change of a file's state is among the times, which a program can't set. Other files of the folder are
    /// never read
    #[arg(value_name = "FOLDER")]
    directory: PathBuf,
    /// Address to listen at: IP:PORT, or unix:PATH with --datapath unix
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4343")]
    addr: Addr,
    /// Refuses files that are longer than this, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = u64::MAX)]
    max: u64,
    /// Lets files replace files with their names
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    carriage: Carriage,
    #[command(flatten)]
    encryption: ServerOptions,
    #[command(flatten)]
    watching: Watching,
}

impl Arguments {
    pub(super) fn execute(self, termination: Termination) -> Result<(), Error> {
        exposure::warn_of_address(&self.addr);
        let encryption = self.encryption.encryption()?;
        bertha::run(async move {
            let receiver = Receiver::open(self.directory).await?.at_most(self.max);
            let receiver = if self.replace { receiver.replacing() } else { receiver };
            let watched = self.watching.begin("file-transfer")?;
            let outcomes = Outcomes::default();
            outcomes.watch(&receiver, &watched)?;
            let receive = Receive { receiver, addr: self.addr, termination, outcomes };
            self.carriage.carry(receive, encryption).await
        })?
    }
}

struct Receive {
    receiver: Receiver,
    addr: Addr,
    termination: Termination,
    outcomes: Outcomes,
}

/// The numbers of transfers, for metrics. Clones share them.
#[derive(Clone, Debug, Default)]
struct Outcomes(Arc<[AtomicU64; 2]>);

impl Outcomes {
    /// Counts a transfer that has ended.
    fn count(&self, is_kept: bool) {
        self.0[usize::from(is_kept)].fetch_add(1, Relaxed);
    }

    /// Adds the numbers to the metrics of the program.
    fn watch(&self, receiver: &Receiver, watched: &Watched) -> Result<(), bertha::Error> {
        let received = receiver.clone();
        let help = "Bytes of files that have arrived.";
        watched.counter("file_transfer_received_bytes_total", help, move || received.received())?;
        let read = |is_kept: bool| {
            let outcomes = self.0.clone();
            move || outcomes[usize::from(is_kept)].load(Relaxed)
        };
        watched.counter("file_transfer_files_kept_total", "Files that were received whole.", read(true))?;
        let help = "Connections over which no file was received whole.";
        watched.counter("file_transfer_files_failed_total", help, read(false))
    }
}

impl Task for Receive {
    fn is_server(&self) -> bool {
        true
    }

    async fn run<S, D>(self, stack: S, datapath: D, settings: Settings) -> Result<(), Error>
    where
        S: Negotiate + 'static,
        D: Runs<S, Out: Connection<Data = Message>> + Clone,
    {
        let termination = self.termination;
        let connections = settings.connections.min(CONNECTIONS);
        let settings = settings.connections(connections);
        let mut incoming = stack.listen(datapath, self.addr).settings(settings).await?;
        say(format!("file-transfer: ready at {}", incoming.local_addr()));
        let places = Arc::new(Semaphore::new(TASKS as usize));
        let mut accepting = pin!(async {
            // The semaphore is never closed.
            while let Ok(place) = places.clone().acquire_owned().await {
                let Some(connection) = incoming.next().await else { break };
                let receiver = self.receiver.clone();
                let termination = termination.clone();
                let outcomes = self.outcomes.clone();
                bertha::spawn(async move {
                    serve(receiver, connection, &termination, &outcomes).await;
                    drop(place);
                });
            }
        });
        tokio::select! {
            biased;
            () = termination.wait() => {}
            () = &mut accepting => return Err(bertha::Error::new(ErrorKind::Io, "listening has failed").into()),
        }
        // All places are free when all connections are closed. A sender that does not answer is given up.
        tokio::select! {
            _ = places.acquire_many(TASKS) => {}
            () = bertha::sleep(CLOSING) => {}
        }
        Ok(())
    }
}

/// Receives a file. A signal closes the connection; the part that has arrived stays, and the next process
/// continues it.
async fn serve<C: Connection<Data = Message>>(
    receiver: Receiver,
    connection: Negotiated<C>,
    termination: &Termination,
    outcomes: &Outcomes,
) {
    let peer = connection.base().peer_addr();
    tracing::info!(%peer, agreement = %connection.explain(), "connected");
    let kept = tokio::select! {
        kept = receiver.serve(&connection) => kept,
        () = termination.wait() => {
            let closed = connection.close().await;
            return tracing::info!(%peer, closed = closed.is_ok(), "ends with the receiver");
        }
    };
    outcomes.count(kept.is_ok());
    match kept {
        Ok(kept) => say(format!(
            "file-transfer: kept {}, {} bytes, from byte {} on over this connection, sha256 {}; {}",
            kept.name,
            kept.bytes,
            kept.offset,
            kept.digest,
            connection.explain()
        )),
        Err(error) => tracing::warn!(%peer, %error, "received no file"),
    }
}
