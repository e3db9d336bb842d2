//! The store over TCP of DPDK, in a process of its own, since its port is described by the environment; and a
//! common client over the kernel's.

use super::client::OwnLoad;
use super::{Sample, port, store};
use crate::harness::{Effort, alternate, run_on};
use crate::memif::config;
use crate::report::Report;
use crate::{Error, ErrorKind};
use bertha_core::Addr;
use bertha_datapath_dpdk::{Dpdk, Tcp};
use bertha_kvstore::resp::RespAddr;
use bertha_kvstore::{Options, Server};
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

/// Address of the store.
const ADDRESS: &str = "10.0.0.1:6379";

/// Serves RESP over DPDK until the standard input ends.
///
/// # Errors
/// Errors of starting the store.
#[allow(clippy::print_stdout, reason = "whoever starts the store waits for this line")]
pub(crate) fn serve() -> Result<(), Error> {
    let resp = vec![RespAddr::Dpdk(ADDRESS.parse().map_err(failed)?)];
    let server = Server::start(Options { resp, ..Options::default() }).map_err(failed)?;
    println!("ready");
    let ended = std::io::stdin().read_to_end(&mut Vec::new());
    ended.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the end"))?;
    server.stop().map_err(failed)
}

/// The process of the store, which is killed when the value is dropped.
struct Store(Child);

impl Store {
    /// Starts the process on the calling thread's core.
    fn start(number: u32) -> Result<Self, Error> {
        let starting = || Error::while_doing(ErrorKind::Core, "starting a store over DPDK");
        let device = config(number, 0, "server", "10.0.0.1/24").device.unwrap_or_default();
        let mut process = Command::new(std::env::current_exe().map_err(starting())?)
            .arg("resp-over-dpdk")
            .env("BERTHA_DPDK_DEVICE", device)
            .env("BERTHA_DPDK_ADDRESS", "10.0.0.1/24")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(starting())?;
        let output = process.stdout.take();
        let store = Self(process);
        let mut line = String::new();
        output.map(|output| BufReader::new(output).read_line(&mut line));
        match line.trim_end() {
            "ready" => Ok(store),
            _ => Err(Error::new(ErrorKind::Stalled, "the store over DPDK does not start")),
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Adds the rows of Bertha's own client, over the kernel and over DPDK in turn.
///
/// # Errors
/// Errors of either store and of the client.
pub(super) fn rows(
    report: &mut Report,
    effort: Effort,
    client_core: usize,
    server_core: usize,
) -> Result<(), Error> {
    // The number differs from the pairs of `dpdk-echo` in this process.
    let number = 90;
    let kernel = run_on(server_core, store)?;
    let to_kernel = Addr::from(std::net::SocketAddr::from(([127, 0, 0, 1], port(&kernel)?)));
    let _over_dpdk = run_on(server_core, || Store::start(number))?;
    let client =
        run_on(client_core, || Dpdk::open(&config(number, 1, "client", "10.0.0.2/24")).map_err(failed))?;
    let dpdk = Tcp::over(&client).bytes();
    let to_dpdk = ADDRESS.parse().map_err(failed)?;
    for pipelined in [1, 16] {
        let load = OwnLoad { pipelined, requests: pipelined.max(4) * effort.pick(30_000, 10_000) };
        let paired = alternate(
            effort.pairs(),
            || run_on(client_core, || load.run(&bertha::kernel::Tcp::new().bytes(), &to_kernel)),
            || run_on(client_core, || load.run(&dpdk, &to_dpdk)),
        )?;
        for (kind, per_second) in [("SET", (|it| it.set) as fn(&Sample) -> f64), ("GET", |it| it.get)] {
            let name = format!("-P {pipelined}, {kind}, a client of ours");
            report.median(format!("{name}, kernel TCP"), &paired.a(), per_second, "ops/s");
            report.median(format!("{name}, DPDK TCP"), &paired.b(), per_second, "ops/s");
            report.compare(&format!("{name}, DPDK TCP to kernel TCP"), &paired, per_second, None);
        }
    }
    kernel.stop().map_err(failed)
}

fn failed(error: bertha_core::Error) -> Error {
    Error::new(ErrorKind::Bertha, "the store over DPDK").because(error)
}
