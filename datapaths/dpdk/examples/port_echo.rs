//! Answers each datagram that arrives at a DPDK port with its contents, until SIGTERM comes, and then prints the port's counters.
//!
//! ```sh
//! BERTHA_DPDK_DEVICE=0000:00:10.0 BERTHA_DPDK_ADDRESS=10.0.0.1/24 cargo run --example port_echo -- 0.0.0.0:7000
//! ```
//!
//! `scripts/dpdk vm` runs it on emulated cards.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the output of a program")]

use bertha_core::{Addr, Connection, Datapath, Error, Listener};
use bertha_datapath_dpdk::{Config, Dpdk, DpdkConnection, DpdkListener};
use std::process::ExitCode;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::{LocalSet, spawn_local};
use tracing::Level;

/// Number of datagrams that are answered at once.
const BURST: usize = 64;

fn main() -> ExitCode {
    tracing_subscriber::fmt().with_max_level(Level::INFO).with_ansi(false).without_time().init();
    match start() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("port_echo: {error}");
            ExitCode::FAILURE
        }
    }
}

fn start() -> Result<(), Box<dyn std::error::Error>> {
    let on: Addr = std::env::args().nth(1).ok_or("the address is missing: 0.0.0.0:7000")?.parse()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    Ok(LocalSet::new().block_on(&runtime, serve(on))?)
}

async fn serve(on: Addr) -> Result<(), Error> {
    let dpdk = Dpdk::open(&Config::from_env()?)?;
    let listener = dpdk.listen(on).await?;
    let mut end = signal(SignalKind::terminate())?;
    println!("offload {:?}", dpdk.offload()?);
    println!("ready");
    tokio::select! {
        failed = accept(listener) => failed?,
        _ = end.recv() => {}
    }
    println!("counters {:?}", dpdk.counters()?);
    println!("port {:?}", dpdk.statistics()?);
    for (number, queue) in dpdk.queues()?.iter().enumerate() {
        println!("queue {number}: {queue:?}");
    }
    Ok(())
}

async fn accept(listener: DpdkListener) -> Result<(), Error> {
    loop {
        let connection = listener.accept().await?;
        spawn_local(async move {
            if let Err(error) = answer(&connection).await {
                println!("a connection ends: {error}");
            }
        });
    }
}

async fn answer(connection: &DpdkConnection) -> Result<(), Error> {
    let mut datagrams = Vec::with_capacity(BURST);
    loop {
        connection.recv_batch(&mut datagrams, BURST).await?;
        connection.send_batch(datagrams.drain(..)).await?;
    }
}
