//! Calls by tarpc over TCP, encoded by bincode.

use super::load::{Load, Sample};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use futures_util::StreamExt;
use std::net::{Ipv4Addr, SocketAddr};
use tarpc::server::{BaseChannel, Channel};
use tarpc::tokio_serde::formats::Bincode;
use tarpc::{client, context, serde_transport};
use tokio::sync::oneshot;

#[tarpc::service]
trait Echo {
    async fn echo(bytes: Vec<u8>) -> Vec<u8>;
}

#[derive(Clone)]
struct Server;

impl Echo for Server {
    async fn echo(self, _: context::Context, bytes: Vec<u8>) -> Vec<u8> {
        bytes
    }
}

/// Makes calls to a server in a thread of its own.
pub(super) fn run(placement: Placement, load: Load) -> Result<Sample, Error> {
    let (tell, told) = oneshot::channel();
    meet(placement, || listen(tell), || call(told, load))
}

async fn listen(tell: oneshot::Sender<SocketAddr>) -> Result<(), Error> {
    let mut listener = serde_transport::tcp::listen((Ipv4Addr::LOCALHOST, 0), Bincode::default)
        .await
        .map_err(Error::while_doing(ErrorKind::Socket, "listening by tarpc"))?;
    listener.config_mut().max_frame_length(usize::MAX);
    let _ = tell.send(listener.local_addr());
    let Some(Ok(transport)) = listener.next().await else { return Ok(()) };
    BaseChannel::with_defaults(transport)
        .execute(Server.serve())
        .for_each(|answering| async {
            tokio::spawn(answering);
        })
        .await;
    Ok(())
}

async fn call(told: oneshot::Receiver<SocketAddr>, load: Load) -> Result<Sample, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    let transport = serde_transport::tcp::connect(server, Bincode::default)
        .await
        .map_err(Error::while_doing(ErrorKind::Socket, "connecting by tarpc"))?;
    let client = EchoClient::new(client::Config::default(), transport).spawn();
    load.run(move |bytes| {
        let client = client.clone();
        async move {
            let echoed = client.echo(context::current(), bytes).await;
            echoed.map(|bytes| bytes.len()).map_err(Error::while_doing(ErrorKind::Socket, "calling by tarpc"))
        }
    })
    .await
}
