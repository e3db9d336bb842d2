//! The subcommand `file-transfer receive`.

use super::carriage::{Carriage, Task};
use super::say;
use bertha::prelude::*;
use bertha::{Addr, Base, ErrorKind, Negotiated, Settings};
use bertha_file_transfer::{Error, Message, Receiver};
use bertha_program::Termination;
use bertha_program::tls::ServerOptions;
use clap::Args;
use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use tokio::sync::Semaphore;

/// Largest number of files that are received at a time; further senders wait.
const CONNECTIONS: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The directory; it has to exist
    directory: PathBuf,
    /// Address to listen at: IP:PORT, or unix:PATH with --datapath unix
    #[arg(long, default_value = "127.0.0.1:4343")]
    addr: Addr,
    /// Refuse files longer than this, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = u64::MAX)]
    max: u64,
    /// Let files replace files with their names
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    carriage: Carriage,
    #[command(flatten)]
    encryption: ServerOptions,
}

impl Arguments {
    pub(super) fn execute(self) -> Result<(), Error> {
        let termination = Termination::expect().map_err(bertha::Error::from)?;
        let encryption = self.encryption.encryption()?;
        bertha::run(async move {
            let receiver = Receiver::open(self.directory).await?.at_most(self.max);
            let receiver = if self.replace { receiver.replacing() } else { receiver };
            let receive = Receive { receiver, addr: self.addr, termination };
            self.carriage.carry(receive, encryption).await
        })?
    }
}

struct Receive {
    receiver: Receiver,
    addr: Addr,
    termination: Termination,
}

impl Task for Receive {
    #[cfg(feature = "quic")]
    fn is_server(&self) -> bool {
        true
    }

    async fn run<S, D>(self, stack: S, datapath: D, settings: Settings) -> Result<(), Error>
    where
        S: Negotiate + 'static,
        D: Runs<S, Out: Connection<Data = Message>> + Clone,
    {
        let mut terminated = pin!(self.termination.into_future().map_err(bertha::Error::from)?);
        let mut incoming = stack.listen(datapath, self.addr).settings(settings).await?;
        say(&format!("ready at {}", incoming.local_addr()));
        let places = Arc::new(Semaphore::new(CONNECTIONS));
        let mut accepting = pin!(async {
            // The semaphore is never closed.
            while let Ok(place) = places.clone().acquire_owned().await {
                let Some(connection) = incoming.next().await else { break };
                let receiver = self.receiver.clone();
                bertha::spawn(async move {
                    serve(receiver, connection).await;
                    drop(place);
                });
            }
        });
        tokio::select! {
            biased;
            // Unfinished files end with the process, and the next process continues them.
            () = &mut terminated => Ok(()),
            () = &mut accepting => Err(bertha::Error::new(ErrorKind::Io, "listening has failed").into()),
        }
    }
}

async fn serve<C: Connection<Data = Message>>(receiver: Receiver, connection: Negotiated<C>) {
    let peer = connection.base().peer_addr();
    tracing::info!(%peer, agreement = %connection.explain(), "connected");
    match receiver.serve(&connection).await {
        Ok(kept) => say(&format!(
            "kept {}, {} bytes, from byte {} on over this connection, sha256 {}; {}",
            kept.name,
            kept.bytes,
            kept.offset,
            kept.digest,
            connection.explain()
        )),
        Err(error) => tracing::warn!(%peer, %error, "received no file"),
    }
}
