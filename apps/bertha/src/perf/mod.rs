//! `bertha perf`: throughput, with the habits of iperf.

mod client;
mod figures;
mod fitting;
mod plot;
mod reverse;
mod stream;

use crate::probe::{SHORTEST, serve};
use crate::site::{Place, Site};
use bertha::Error;
use bertha_named::Stack;
use bertha_program::Termination;
use bertha_program::values::positive_seconds;
use clap::Args;
use client::Client;
use plot::Figure;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

/// Measures throughput from a client to a server, over any datapath and stack. The server answers `bertha ping` as well.
#[derive(Debug, Args)]
#[command(group(clap::ArgGroup::new("end").required(true).args(["server", "client"])))]
#[command(after_help = format!("Chunnels: {}", Stack::known()))]
pub(crate) struct Perf {
    /// Serves at this address.
    #[arg(long, short, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "0.0.0.0")]
    server: Option<String>,
    /// Connects to the server at IP:PORT, HOST[:PORT] or unix:PATH, and sends.
    #[arg(long, short, value_name = "ADDRESS")]
    client: Option<String>,
    /// The Chunnels, top first, equal to the peer's or alternatives of them: `ordered,reliable,tls|checksum`.
    #[arg(long, value_name = "STACK", default_value_t)]
    stack: Stack,
    /// Time for which to send, in seconds.
    #[arg(long, short, value_name = "SECONDS", default_value = "10", value_parser = positive_seconds)]
    time: Duration,
    /// Number of connections that send at once.
    #[arg(long, short = 'P', value_name = "CONNECTIONS", default_value = "1")]
    parallel: NonZeroUsize,
    /// Makes the server send and the client receive.
    #[arg(long, short = 'R', conflicts_with = "server")]
    reverse: bool,
    /// Length of a message, in bytes; by default the longest that the connection carries, and at most
    /// 131,072. Where datagrams of that length are lost, a shorter length is found.
    #[arg(long, short, value_name = "BYTES", value_parser = length)]
    length: Option<usize>,
    /// Time between two lines of figures, in seconds.
    #[arg(long, short, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Prints JSON: a client a single object at the end, with the names of iperf3, a server an object for
    /// each connection.
    #[arg(long, short = 'J')]
    json: bool,
    /// Draws the congestion window of each connection over time, with throughput and round-trip time, into this file,
    /// as SVG.
    #[arg(long, value_name = "FILE", value_parser = plot::path, conflicts_with_all = ["server", "reverse"])]
    plot: Option<PathBuf>,
    #[command(flatten)]
    site: Site,
}

impl Perf {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        if let Some(on) = &self.server {
            return serve(&self.site, &self.stack, on, self.json, termination).await;
        }
        // A file that can't be written is told before the run.
        let figure = self.plot.as_deref().map(Figure::open).transpose()?;
        let measuring = async {
            let place = Place::find(self.client.as_deref().unwrap_or_default()).await?;
            self.site.transport().run(Client { perf: &self, place, figure }).await
        };
        termination.work(measuring).await
    }
}

/// Parses a length that a message of `perf` or `ping` can have.
pub(crate) fn length(text: &str) -> Result<usize, String> {
    let range = SHORTEST..=16 << 20;
    match text.parse() {
        Ok(length) if range.contains(&length) => Ok(length),
        _ => Err(format!("a message has {} to {} bytes", range.start(), range.end())),
    }
}
