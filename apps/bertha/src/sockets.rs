//! `bertha sockets`: where the sockets of programs under `bertha run` are.

mod kernel;

use crate::rpcd::table;
use bertha::{Error, ErrorKind};
use bertha_program::Termination;
use bertha_sockets_machine::protocol::LIST;
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// The time that a person waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// The longest list, in bytes.
const LONGEST: u64 = 4 << 20;

/// Lists the sockets of programs under `bertha run`: the process, the addresses, where the bytes that it sends go (ring, kernel or stack), how often
/// that has changed, for how many seconds since it asked for memory, and why not in a ring, or by which stack. Users other than root see their own sockets.
#[derive(Debug, Args)]
pub(crate) struct Sockets {
    /// The socket of `bertha-socketd`.
    #[arg(long, value_name = "FILE", default_value = "/run/bertha/sockets.sock")]
    socket: PathBuf,
}

impl Sockets {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let listing = timeout(PATIENCE, list(&self.socket));
        let lines = termination.work(async {
            listing.await.map_err(|_| Error::new(ErrorKind::TimedOut, "the daemon does not answer"))?
        });
        let lines = lines.await?;
        let others = kernel::lines(&lines, &std::path::absolute(&self.socket)?);
        let all: Vec<_> = lines.lines().chain(others.iter().map(String::as_str)).collect();
        table("process\tlocal\tpeer\twhere\tmoves\tseconds\treason", &all)
    }
}

async fn list(socket: &Path) -> Result<String, Error> {
    let daemon = UnixStream::connect(socket).await;
    let mut daemon = daemon.map_err(|error| {
        Error::of_file(format_args!("cannot ask the daemon at {}", socket.display()), error)
    })?;
    daemon.write_all(&LIST).await?;
    let mut lines = String::new();
    daemon.take(LONGEST).read_to_string(&mut lines).await?;
    Ok(lines)
}
