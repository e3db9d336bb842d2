//! The processes of the two ends.

use crate::figures::local::failed;
use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_microservice::load::{self, Load};
use bertha_microservice::{Site, Transport, services};
use clap::Args;
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct ServeOptions {
    #[command(flatten)]
    end: End,
}

#[derive(Debug, Args)]
pub(crate) struct AskOptions {
    #[command(flatten)]
    end: End,
    #[arg(long)]
    connections: u64,
    #[arg(long)]
    requests: u64,
}

#[derive(Debug, Args)]
struct End {
    /// Folder of the site
    #[arg(long)]
    site: PathBuf,
    #[arg(long)]
    transport: Transport,
    /// Address of the service
    addr: String,
}

impl End {
    fn addr(&self) -> Result<Addr, Error> {
        self.addr.parse().map_err(failed)
    }
}

/// Serves an echo, prints its address, and is the directory of the machine, until the process is killed.
///
/// # Errors
/// Errors of listening.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn serve(ServeOptions { end }: &ServeOptions) -> Result<(), Error> {
    let site = Site::new(&end.site);
    let addr = end.addr()?;
    runtime()?.block_on(async {
        let socket = end.site.join("directory.sock");
        let directory = DirectoryServer::listen(socket, Rules::new()).map_err(failed)?;
        let served = async {
            let echo = end.transport.serve(&site, "echo", addr, services::echo()).await.map_err(failed)?;
            println!("{}", echo.addr);
            std::future::pending().await
        };
        tokio::select! {
            ended = directory.serve() => ended.map_err(failed),
            served = served => served,
        }
    })
}

/// Asks the echo, and prints the times from request to answer, in microseconds and in their order.
///
/// # Errors
/// Errors of the connections.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(crate) fn ask(options: &AskOptions) -> Result<(), Error> {
    let times = serde_json::to_string(&times(options)?);
    println!("{}", times.map_err(Error::while_doing(ErrorKind::Report, "encoding times"))?);
    Ok(())
}

fn times(AskOptions { end, connections, requests }: &AskOptions) -> Result<Vec<f64>, Error> {
    let (site, addr) = (Site::new(&end.site), end.addr()?);
    let load = Load { connections: *connections, requests: *requests };
    let asked = runtime()?.block_on(load::ask(end.transport, &site, &addr, load)).map_err(failed)?;
    // The times are in their order, so percentiles of all blocks together follow from these.
    let count = connections * requests;
    let time = |at: u64| asked.quantile(at as f64 / count as f64).as_secs_f64() * 1e6;
    Ok((1..=count).map(time).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_asks_the_other_and_an_address_that_is_none_is_an_error() {
        let folder = tempfile::TempDir::new().unwrap();
        let end = |transport, addr: String| End { site: folder.path().to_owned(), transport, addr };
        let at = format!("unix:{}", folder.path().join("echo.sock").display());
        let served = ServeOptions { end: end(Transport::Shm, at.clone()) };
        // The thread serves for as long as the process of the test.
        std::thread::spawn(move || serve(&served));
        while !folder.path().join("echo.sock").exists() {
            std::thread::yield_now();
        }
        let ask = |addr| times(&AskOptions { end: end(Transport::Shm, addr), connections: 3, requests: 10 });
        let asked = ask(at).unwrap();
        assert_eq!(asked.len(), 30);
        assert!(asked.is_sorted() && asked[0] > 0.0, "{asked:?}");
        assert_eq!(ask("nowhere".into()).unwrap_err().kind(), ErrorKind::Bertha);
    }
}
