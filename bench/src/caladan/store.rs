//! The key-value store and its client, as tasks of a single runtime.

use super::echo::Stack;
use super::settings::{ADDRESS, config, failed};
use crate::Error;
use crate::harness::runtime;
use crate::kv::{Client, Sample, Setup, inlined, load_and_measure};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Base, Bottom, Connection, Datapath, Listener, Runtime, make_stack};
use bertha_datapath_caladan::{Bridged, Caladan, run as run_over_caladan};
use bertha_kvstore::server::{Handler, Shard};
use bertha_kvstore::{Capacity, Message};
use bertha_negotiation::{Negotiate, Runs};
use clap::Args;

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    #[arg(long)]
    stack: Stack,
    #[arg(long)]
    in_flight: usize,
    #[arg(long)]
    requests: u64,
}

/// The stack of all stores of the program `datapaths`.
type Bytes = bertha_core::Stack<Serialize<Message>, Bottom>;

pub(crate) fn run(options: Options) -> Result<Sample, Error> {
    let at: Addr = ADDRESS.parse().map_err(failed)?;
    let setup = Setup { in_flight: options.in_flight, requests: options.requests, ..Setup::default() };
    match options.stack {
        Stack::None => run_over_caladan(&config(1), without_chunnels(at, setup)).map_err(failed)?,
        Stack::Negotiated => {
            run_over_caladan(&config(1), negotiated(Caladan::new(), at, setup)).map_err(failed)?
        }
        Stack::Bridged => {
            runtime()?.block_on(negotiated(Bridged::over(Caladan::new(), &config(2)), at, setup))
        }
    }
}

async fn without_chunnels(at: Addr, setup: Setup) -> Result<Sample, Error> {
    let listener = Caladan::new().listen(at).await.map_err(failed)?;
    let to = listener.local_addr();
    bertha_datapath_caladan::spawn(async move {
        if let Ok(accepted) = listener.accept().await {
            inlined::serve(accepted).await;
        }
    });
    inlined::measure(&Caladan::new().connect(to).await.map_err(failed)?, &setup).await
}

async fn negotiated<D>(datapath: D, at: Addr, setup: Setup) -> Result<Sample, Error>
where
    D: Datapath + Clone + Runs<Bytes, Out: Connection<Data = Message>>,
{
    let stack = make_stack!(Serialize::<Message>::new());
    let mut incoming = stack.clone().listen(datapath.clone(), at).await.map_err(failed)?;
    let to = incoming.local_addr();
    let accepting = incoming.next_or_refusal();
    let connecting = stack.connect(datapath, to).into_future();
    let (accepted, connection) = futures_util::join!(accepting, connecting);
    let served = accepted.transpose().map_err(failed)?;
    let connection = connection.map_err(failed)?;
    let shard = Shard::new(Capacity::default());
    let task = served.map(|served| {
        connection.base().runtime().spawn(async move {
            // The task ends with the client's connection.
            let _ended = shard.serve(&served).await;
        })
    });
    let mut client = Client::new(connection, setup.in_flight, setup.timeout);
    let sample = load_and_measure(&mut client, &setup, &mut setup.workload.script()?).await;
    drop(task);
    sample
}
