//! The key-value store under workload B over one datapath and the next, with the same stack, store and client: the server on
//! one core, the client on another. And the same without stack or negotiation.

mod bare;
mod figure;
pub mod lockstep;

use crate::baseline::kv_raw::{Sample, Setup};
use crate::cores::{self, Placement};
use crate::kv_bertha::client::Client;
use crate::kv_bertha::load_and_measure;
use crate::workload::Script;
use crate::{Error, ErrorKind};
use bertha::Addr;
use bertha::chunnels::Serialize;
use bertha::prelude::*;
use bertha_core::Wrap;
use bertha_datapath_kernel::TokioRuntime;
use bertha_kvstore::server::{Handler, Shard};
use bertha_kvstore::{Capacity, Message};
use std::sync::mpsc;
use tokio::runtime::{Builder, Runtime};

pub use bare::run as bare;
pub use figure::{Line, draw};

/// The store over `server`'s datapath at `addr`, and a client over `client`'s.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails,
/// [`ErrorKind::Stalled`] when the store stops answering.
pub fn run<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error>
where
    D: Runs<Bytes, Out: Connection<Data = Message>>,
{
    let (listening, is_listening) = mpsc::sync_channel(1);
    across_cores(
        async move |over| {
            let mut incoming = stack().listen(server, addr).await.map_err(failed("listening"))?;
            let _ = listening.send(incoming.local_addr());
            match incoming.next().await {
                Some(accepted) => serve(&accepted.map_err(failed("accepting"))?, over).await,
                None => Err(Error::new(ErrorKind::Bertha, "the listener ended")),
            }
        },
        async move || {
            let addr =
                is_listening.recv().map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            let connection = stack().connect(client, addr).await.map_err(failed("connecting"))?;
            ask(connection, setup).await
        },
    )
}

/// The store at the other end of a queue in memory: what is left when the datapath costs next to nothing.
///
/// # Errors
/// As [`run`].
pub fn in_memory(setup: &Setup) -> Result<Sample, Error> {
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    across_cores(
        async move |over| {
            let connection = stack().wrap(there).await.map_err(failed("making the store's stack"))?;
            serve(&connection, over).await
        },
        async move || {
            let connection = stack().wrap(here).await.map_err(failed("making the client's stack"))?;
            ask(connection, setup).await
        },
    )
}

/// Messages in bytes.
pub type Bytes = bertha_core::Stack<Serialize<Message>, bertha_core::Bottom>;

fn stack() -> Bytes {
    make_stack!(Serialize::<Message>::new())
}

/// Answers until the client is done.
async fn serve<C: Connection<Data = Message>>(connection: &C, over: mpsc::Receiver<()>) -> Result<(), Error> {
    let shard = Shard::new(Capacity::default());
    // It ends with the client's connection.
    until(over, async {
        shard.serve(connection).await;
        Ok(())
    })
    .await
}

/// Runs `serving` until the client is done.
async fn until(
    over: mpsc::Receiver<()>,
    serving: impl Future<Output = Result<(), Error>>,
) -> Result<(), Error> {
    let over = async {
        while over.try_recv() == Err(mpsc::TryRecvError::Empty) {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    };
    tokio::select! {
        ended = serving => ended,
        () = over => Ok(()),
    }
}

async fn ask<C: Connection<Data = Message>>(connection: C, setup: &Setup) -> Result<Sample, Error> {
    let mut client = Client::new(connection, setup.outstanding);
    let sample = load_and_measure(&mut client, setup, &mut script(setup)?).await;
    client.close().await?;
    sample
}

/// What the one store is asked.
fn script(setup: &Setup) -> Result<Script, Error> {
    let script = setup.workload.scripts(1).pop().map(|(_, script)| script);
    script.ok_or_else(|| Error::new(ErrorKind::Probe, "the workload has no records"))
}

/// Runs both ends, each on a core and a runtime of its own.
fn across_cores(
    server: impl AsyncFnOnce(mpsc::Receiver<()>) -> Result<(), Error> + Send,
    client: impl AsyncFnOnce() -> Result<Sample, Error> + Send,
) -> Result<Sample, Error> {
    let (client_core, server_core) = Placement::AcrossCores.cores()?;
    let (done, over) = mpsc::sync_channel(1);
    std::thread::scope(|scope| {
        let serving = scope.spawn(move || {
            cores::pin(server_core)?;
            runtime()?.block_on(server(over))
        });
        let measuring = scope.spawn(move || {
            cores::pin(client_core)?;
            let sample = runtime()?.block_on(client());
            drop(done);
            sample
        });
        let sample = cores::join(measuring);
        cores::join(serving)?;
        sample
    })
}

fn runtime() -> Result<Runtime, Error> {
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
