//! `file-transfer receive`.

use super::carriage::{Carriage, Task};
use super::say;
use bertha::prelude::*;
use bertha::{Addr, Base, ErrorKind, Negotiated, Settings};
use bertha_file_transfer::{Error, Message, Receiver};
use bertha_tls_options::ServerOptions;
use clap::Args;
use std::path::PathBuf;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;

/// The most files that are received at a time; further senders wait.
const CONNECTIONS: usize = 1_000;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The directory; it has to exist
    directory: PathBuf,
    /// Where to listen: IP:PORT, or unix:PATH with --datapath unix
    #[arg(long, default_value = "127.0.0.1:4343")]
    addr: Addr,
    /// Take no files longer than this, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = u64::MAX)]
    max: u64,
    /// Let files take the place of those that have their names
    #[arg(long)]
    replace: bool,
    #[command(flatten)]
    carriage: Carriage,
    #[command(flatten)]
    encryption: ServerOptions,
}

impl Arguments {
    pub(super) async fn execute(self) -> Result<(), Error> {
        let receiver = Receiver::open(self.directory).await?.at_most(self.max);
        let receiver = if self.replace { receiver.replacing() } else { receiver };
        let encryption = self.encryption.encryption()?;
        self.carriage.carry(Receive { receiver, addr: self.addr }, encryption).await
    }
}

struct Receive {
    receiver: Receiver,
    addr: Addr,
}

impl Task for Receive {
    #[cfg(feature = "quic")]
    fn is_server(&self) -> bool {
        true
    }

    async fn run<S, D>(self, stack: S, datapath: D, settings: Settings) -> Result<(), Error>
    where
        S: Negotiate + Sync + 'static,
        D: Runs<S, Out: Connection<Data = Message>> + Clone,
    {
        let signals = |error: std::io::Error| Error::Connection(error.into());
        let mut interrupt = signal(SignalKind::interrupt()).map_err(signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(signals)?;
        let mut incoming = stack.listen(datapath, self.addr).settings(settings).await?;
        say(&format!("ready at {}", incoming.local_addr()));
        let mut senders = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                _ = interrupt.recv() => return Ok(()),
                _ = terminate.recv() => return Ok(()),
                Some(_) = senders.join_next() => {}
                accepted = incoming.next(), if senders.len() < CONNECTIONS => match accepted {
                    Some(Ok(connection)) => drop(senders.spawn(serve(self.receiver.clone(), connection))),
                    Some(Err(error)) => tracing::warn!(%error, "turned a sender away"),
                    None => {
                        let what = "listening has failed";
                        return Err(bertha::Error::new(ErrorKind::Io, what).into());
                    }
                },
            }
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
