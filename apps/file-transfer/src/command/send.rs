//! The subcommand `file-transfer send`.

use super::carriage::{Carriage, Task};
use super::progress;
use bertha::prelude::*;
use bertha::{Addr, Settings};
use bertha_file_transfer::{Digest, Error, Message, Progress, Sending, send};
use bertha_program::tls::ClientOptions;
use bertha_program::values::seconds;
use bertha_program::{Termination, say};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The file
    #[arg(value_name = "FILE")]
    path: PathBuf,
    /// The receiver: IP:PORT, or unix:PATH with --datapath unix
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:4343")]
    to: Addr,
    /// The digest that the file has to have, if it is known; by default the digest of the file here
    #[arg(long, value_name = "DIGEST")]
    sha256: Option<Digest>,
    /// Time for which to go on connecting while nothing gets through, in seconds; 0 is a single connection
    #[arg(long, default_value = "60", value_name = "SECONDS", value_parser = seconds)]
    persistence: Duration,
    #[command(flatten)]
    carriage: Carriage,
    #[command(flatten)]
    encryption: ClientOptions,
}

impl Arguments {
    pub(super) fn execute(self, termination: Termination) -> Result<(), Error> {
        let Self { path, to, sha256, persistence, carriage, encryption } = self;
        let host =
            to.ip("file-transfer").map(|to| to.ip().to_string()).unwrap_or_else(|_| "file-transfer".into());
        let encryption = encryption.encryption(host)?;
        let sending = Sending { to, path, expected: sha256, persistence, settings: Settings::default() };
        bertha::run(async move { termination.work(carriage.carry(Sender { sending }, encryption)).await })?
    }
}

struct Sender {
    sending: Sending,
}

impl Task for Sender {
    fn is_server(&self) -> bool {
        false
    }

    async fn run<S, D>(self, stack: S, datapath: D, settings: Settings) -> Result<(), Error>
    where
        S: Negotiate + 'static,
        D: Runs<S, Out: Connection<Data = Message>> + Clone,
    {
        let sending = Sending { settings, ..self.sending };
        // The length is only for the progress bar: a missing file is an error of `send`.
        let total = std::fs::metadata(&sending.path).map_or(0, |metadata| metadata.len());
        let progress = Progress::default();
        let sent =
            progress::with_progress_bar(total, &progress, send(&stack, &datapath, &sending, &progress))
                .await?;
        say(format!(
            "file-transfer: sent {}, {} bytes, from byte {} on over the last connection, sha256 {}",
            sending.path.display(),
            sent.bytes,
            sent.offset,
            sent.digest
        ));
        Ok(())
    }
}
