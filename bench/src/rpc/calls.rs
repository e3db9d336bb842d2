//! Calls by `Rpc`.

use super::load::{Load, Sample};
use crate::harness::{Certificate, Placement, meet, meet_on_one_runtime};
use crate::{Error, ErrorKind};
use bertha_chunnels::rpc::{Client, FuseRpcAndTls, Message, Method, Multiplexer, Service, handler, serve};
use bertha_chunnels::{Reliable, Rpc, Tls};
use bertha_core::{Addr, Connection, make_stack, optimize};
use bertha_datapath_kernel::{Tcp, Udp};
use bertha_negotiation::Negotiate;
use std::net::Ipv4Addr;
use tokio::sync::oneshot;

/// The layers below `Rpc`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    UdpReliable,
    Tcp,
    Tls,
    /// TLS as in `Tls`, combined with `Rpc` in a single Chunnel.
    FusedTls,
}

const ECHO: Method = Method::new("echo");

const ANY: (Ipv4Addr, u16) = (Ipv4Addr::LOCALHOST, 0);

/// The stack of `Tls` after the pass.
macro_rules! fused {
    ($tls:expr) => {
        optimize!(make_stack!(Rpc::new(), $tls), FuseRpcAndTls)
    };
}

/// The Chunnels for TLS of a client and of a server.
struct Secured {
    client: Tls,
    server: Tls,
}

impl Secured {
    fn new() -> Result<Self, Error> {
        let certificate = Certificate::new()?;
        let client = certificate.trust().and_then(|trust| Tls::client(Certificate::NAME, trust));
        let server = certificate.identity().and_then(Tls::server);
        Ok(Self { client: client.map_err(failed)?, server: server.map_err(failed)? })
    }
}

/// Makes calls to a server in a thread of its own.
pub(super) fn run(transport: Transport, placement: Placement, load: Load) -> Result<Sample, Error> {
    let (tell, told) = oneshot::channel();
    let Secured { client, server } = Secured::new()?;
    meet(placement, || listen(transport, server, tell), || call(transport, client, told, load))
}

/// Makes calls in two tasks of a single runtime.
pub(super) fn on_one_runtime(transport: Transport, load: Load) -> Result<(), Error> {
    let (tell, told) = oneshot::channel();
    let Secured { client, server } = Secured::new()?;
    // The calls for warm-up are left out, since they would count.
    let load = Load { calls: load.calls * 10 / 11, ..load };
    meet_on_one_runtime(listen(transport, server, tell), call(transport, client, told, load)).map(drop)
}

pub(crate) fn echo() -> impl Service<Response = Vec<u8>> {
    handler(ECHO, |bytes| std::future::ready(Ok(bytes)))
}

/// Answers the calls of a single client.
async fn listen(transport: Transport, tls: Tls, tell: oneshot::Sender<Addr>) -> Result<(), Error> {
    // Each transport has a type of its own. A client that has given up reports an error of its own.
    macro_rules! one_client {
        ($stack:expr, $datapath:expr) => {{
            let mut incoming = $stack.listen($datapath, ANY).await?;
            let _ = tell.send(incoming.local_addr());
            let Some(connection) = incoming.next_or_refusal().await.transpose()? else { return Ok(()) };
            serve(connection, echo()).await
        }};
    }
    let serving = async {
        match transport {
            Transport::UdpReliable => one_client!(make_stack!(Rpc::new(), Reliable::new()), Udp::new()),
            Transport::Tcp => one_client!(make_stack!(Rpc::new()), Tcp::new()),
            Transport::Tls => one_client!(make_stack!(Rpc::new(), tls), Tcp::new()),
            Transport::FusedTls => one_client!(fused!(tls), Tcp::new()),
        }
    };
    serving.await.map_err(failed)
}

async fn call(
    transport: Transport,
    tls: Tls,
    told: oneshot::Receiver<Addr>,
    load: Load,
) -> Result<Sample, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    match transport {
        Transport::UdpReliable => {
            let stack = make_stack!(Rpc::new(), Reliable::new());
            calls(stack.connect(Udp::new(), server).await.map_err(failed)?, load).await
        }
        Transport::Tcp => {
            let stack = make_stack!(Rpc::new());
            calls(stack.connect(Tcp::new(), server).await.map_err(failed)?, load).await
        }
        Transport::Tls => {
            let stack = make_stack!(Rpc::new(), tls);
            calls(stack.connect(Tcp::new(), server).await.map_err(failed)?, load).await
        }
        Transport::FusedTls => {
            calls(fused!(tls).connect(Tcp::new(), server).await.map_err(failed)?, load).await
        }
    }
}

/// Makes the calls over a connection, and closes it.
pub(crate) async fn calls(connection: impl Connection<Data = Message>, load: Load) -> Result<Sample, Error> {
    let client = Client::new(connection);
    let calling = client.clone();
    let sample = load
        .run(move |bytes| {
            let client = calling.clone();
            async move { ask(&client, bytes).await }
        })
        .await?;
    client.caller().close().await.map_err(failed)?;
    Ok(sample)
}

async fn ask<C: Connection<Data = Message>>(
    client: &Client<Multiplexer<C>>,
    bytes: Vec<u8>,
) -> Result<usize, Error> {
    let echoed = client.call::<Vec<u8>, Vec<u8>>(ECHO, &bytes).response().await;
    echoed.map(|bytes| bytes.len()).map_err(Error::while_doing(ErrorKind::Bertha, "calling"))
}

pub(super) fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "calling over a connection")(error)
}
