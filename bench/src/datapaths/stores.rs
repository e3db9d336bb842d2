//! A store and its client over a datapath, each on a core and a runtime of its own.

use crate::harness::{Placement, meet};
use crate::kv::{Client, Sample, Setup, load_and_measure};
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Datapath, Listener, Wrap};
use bertha_datapath_kernel::TokioRuntime;
use bertha_kvstore::server::{Handler, Shard};
use bertha_kvstore::{Capacity, Message};
use tokio::sync::oneshot;

type Bytes = bertha_core::Stack<Serialize<Message>, bertha_core::Bottom>;

/// Runs the store and its client, with the stack that both negotiate.
pub(super) fn negotiated<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error>
where
    D: Runs<Bytes, Out: Connection<Data = Message>>,
{
    let (tell, told) = oneshot::channel();
    between(
        setup,
        async move || {
            let mut incoming = stack().listen(server, addr).await.map_err(failed("listening"))?;
            let _ = tell.send(incoming.local_addr());
            let accepted = incoming.next_or_refusal().await.transpose().map_err(failed("accepting"))?;
            accepted.ok_or_else(|| Error::new(ErrorKind::Bertha, "the listener ended"))
        },
        async move || {
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            stack().connect(client, addr).await.map_err(failed("connecting"))
        },
    )
}

/// Runs a common stack at both ends of the datapath's own connections, without negotiation.
pub(super) fn bare<D>(server: D, client: D, addr: Addr, setup: &Setup) -> Result<Sample, Error>
where
    D: Datapath,
    Bytes: bertha_core::Chunnel<D::Connection, Connection: Connection<Data = Message>>,
{
    let (tell, told) = oneshot::channel();
    between(
        setup,
        async move || {
            let listener = server.listen(addr).await.map_err(failed("listening"))?;
            let _ = tell.send(listener.local_addr());
            let accepted = listener.accept().await.map_err(failed("accepting"))?;
            stack().wrap(accepted).await.map_err(failed("making the store's stack"))
        },
        async move || {
            let addr = told.await.map_err(Error::while_doing(ErrorKind::Core, "waiting for the store"))?;
            let connection = client.connect(addr).await.map_err(failed("connecting"))?;
            stack().wrap(connection).await.map_err(failed("making the client's stack"))
        },
    )
}

/// Runs the store at the other end of a queue in memory: the limit of client and store themselves.
pub(super) fn in_memory(setup: &Setup) -> Result<Sample, Error> {
    let (here, there) = bertha_datapath_sim::pair(TokioRuntime);
    between(
        setup,
        async move || stack().wrap(there).await.map_err(failed("making the store's stack")),
        async move || stack().wrap(here).await.map_err(failed("making the client's stack")),
    )
}

fn stack() -> Bytes {
    make_stack!(Serialize::<Message>::new())
}

/// Runs a store and its client, each on a core and a runtime of its own, with connections that these open.
fn between<S, C>(
    setup: &Setup,
    accept: impl AsyncFnOnce() -> Result<S, Error> + Send,
    connect: impl AsyncFnOnce() -> Result<C, Error> + Send,
) -> Result<Sample, Error>
where
    S: Connection<Data = Message>,
    C: Connection<Data = Message>,
{
    let (done, over) = oneshot::channel::<()>();
    meet(
        Placement::AcrossCores,
        || async {
            let connection = accept().await?;
            let shard = Shard::new(Capacity::default());
            tokio::select! {
                // The task ends with the client's connection.
                _ = shard.serve(&connection) => {}
                _ = over => {}
            }
            Ok(())
        },
        || async {
            // The value is dropped at the end, for a store that does not notice the end otherwise.
            let _done = done;
            let mut client = Client::new(connect().await?, setup.in_flight, setup.timeout);
            let sample = load_and_measure(&mut client, setup, &mut setup.workload.script()?).await;
            client.close().await?;
            sample
        },
    )
}

fn failed(doing: &'static str) -> impl FnOnce(bertha::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, doing)
}
