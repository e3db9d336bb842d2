//! An echo whose ends are tasks of a single runtime, as `echo-by-hand` is in C.

use super::settings::{ADDRESS, config, failed};
use crate::Error;
use crate::harness::runtime;
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener, Runtime, make_stack};
use bertha_datapath_caladan::{Bridged, Caladan, run as run_over_caladan};
use bertha_negotiation::Negotiate;
use clap::{Args, ValueEnum};
use std::time::Instant;

/// Length of a message.
pub(super) const BYTES: usize = 64;

/// Largest number of messages that are passed on at once.
const BURST: usize = 32;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    #[arg(long)]
    stack: Stack,
    #[arg(long)]
    in_flight: u64,
    #[arg(long)]
    messages: u64,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Stack {
    /// Connections of the datapath, without Chunnels.
    None,
    /// A stack that the two ends negotiate, which is empty for an echo.
    Negotiated,
    /// The stack on tokio, with Caladan beside it.
    Bridged,
}

pub(crate) fn run(options: Options) -> Result<f64, Error> {
    let at: Addr = ADDRESS.parse().map_err(failed)?;
    match options.stack {
        Stack::None => run_over_caladan(&config(1), bare(at, options)),
        Stack::Negotiated => run_over_caladan(&config(1), negotiated(Caladan::new(), at, options)),
        Stack::Bridged => {
            Ok(runtime()?.block_on(negotiated(Bridged::over(Caladan::new(), &config(2)), at, options)))
        }
    }
    .map_err(failed)?
    .map_err(failed)
}

async fn bare(at: Addr, options: Options) -> Result<f64, bertha_core::Error> {
    let listener = Caladan::new().listen(at).await?;
    let to = listener.local_addr();
    bertha_datapath_caladan::spawn(async move {
        if let Ok(served) = listener.accept().await {
            echo(served).await;
        }
    });
    measure(&Caladan::new().connect(to).await?, options).await
}

async fn negotiated<D>(datapath: D, at: Addr, options: Options) -> Result<f64, bertha_core::Error>
where
    D: Datapath + Clone,
{
    let mut incoming = make_stack!().listen(datapath.clone(), at).await?;
    let to = incoming.local_addr();
    let accepting = incoming.next_or_refusal();
    let connecting = make_stack!().connect(datapath, to).into_future();
    let (accepted, connection) = futures_util::join!(accepting, connecting);
    let served = accepted.transpose()?;
    let connection = connection?;
    let task = served.map(|served| connection.base().runtime().spawn(echo(served)));
    let figure = measure(&connection, options).await;
    drop(task);
    figure
}

/// Returns messages to their sender until the connection ends.
async fn echo(connection: impl Connection<Data = Buf>) {
    let mut messages = Vec::with_capacity(BURST);
    while connection.recv_batch(&mut messages, BURST).await.is_ok() {
        if connection.send_batch(messages.drain(..)).await.is_err() {
            break;
        }
    }
}

async fn measure(
    connection: &impl Connection<Data = Buf>,
    options: Options,
) -> Result<f64, bertha_core::Error> {
    keep_in_flight(connection, options.in_flight, options.messages / 10).await?;
    let begin = Instant::now();
    keep_in_flight(connection, options.in_flight, options.messages).await?;
    Ok(options.messages as f64 / begin.elapsed().as_secs_f64())
}

/// Sends this number of messages, with `in_flight` of them on their way, and receives the answers.
async fn keep_in_flight(
    connection: &impl Connection<Data = Buf>,
    in_flight: u64,
    count: u64,
) -> Result<(), bertha_core::Error> {
    let mut sent = 0;
    let mut received = 0;
    let mut requests = Vec::with_capacity(BURST);
    let mut answers = Vec::with_capacity(BURST);
    while received < count {
        let room = (received + in_flight).min(count) - sent;
        for _ in 0..room {
            requests.push(message(connection.base())?);
        }
        connection.send_batch(requests.drain(..)).await?;
        sent += room;
        received += connection.recv_batch(&mut answers, BURST).await? as u64;
        answers.clear();
    }
    Ok(())
}

fn message(base: &impl Base) -> Result<Buf, bertha_core::Error> {
    let mut message = base.buffer(BYTES)?;
    message.fill(7);
    Ok(message)
}
