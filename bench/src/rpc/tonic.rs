//! Calls by tonic: gRPC without TLS, over TCP or a Unix socket.

use super::load::{Load, Sample};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::Ipv4Addr;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tokio::sync::oneshot;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// Path of the method.
const PATH: &str = "/bench.Echo/Echo";

#[derive(Clone, PartialEq, prost::Message)]
struct Bytes {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

#[derive(Clone)]
struct Echo;

impl NamedService for Echo {
    const NAME: &'static str = "bench.Echo";
}

impl UnaryService<Bytes> for Echo {
    type Response = Bytes;
    type Future = Ready<Result<Response<Bytes>, Status>>;

    fn call(&mut self, request: Request<Bytes>) -> Self::Future {
        ready(Ok(Response::new(request.into_inner())))
    }
}

impl Service<http::Request<Body>> for Echo {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Bytes, Bytes>::default());
            Ok(grpc.unary(Echo, request).await)
        })
    }
}

/// The sockets below HTTP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Socket {
    Tcp,
    #[cfg(feature = "local")]
    Unix,
}

/// Makes calls to a server in a thread of its own.
pub(crate) fn run(socket: Socket, placement: Placement, load: Load) -> Result<Sample, Error> {
    against(socket, placement, async move |url: String| {
        let channel = connected(&url).await?;
        load.run(move |bytes| {
            let channel = channel.clone();
            async move { ask(channel, bytes).await }
        })
        .await
    })
}

/// Makes calls one at a time, over connections one after another. Returns the time of each, in microseconds.
#[cfg(feature = "local")]
pub(crate) fn ask_in_turn(socket: Socket, connections: usize, requests: usize) -> Result<Vec<f64>, Error> {
    against(socket, Placement::AcrossCores, async move |url: String| {
        let mut times = Vec::new();
        for _ in 0..connections {
            let channel = connected(&url).await?;
            for _ in 0..requests {
                let start = std::time::Instant::now();
                ask(channel.clone(), vec![7; 64]).await?;
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
        }
        Ok(times)
    })
}

/// Runs a client, with the server's address, against a server that ends with it.
fn against<T: Send>(
    socket: Socket,
    placement: Placement,
    client: impl AsyncFnOnce(String) -> Result<T, Error> + Send,
) -> Result<T, Error> {
    let (tell, told) = oneshot::channel();
    let (done, over) = oneshot::channel::<()>();
    meet(
        placement,
        || async {
            let serving = async {
                match socket {
                    Socket::Tcp => serve_tcp(tell).await,
                    #[cfg(feature = "local")]
                    Socket::Unix => serve_unix(tell).await,
                }
            };
            tokio::select! {
                served = serving => served,
                _ = over => Ok(()),
            }
        },
        || async {
            // The value is dropped at the end, however the client ends.
            let _done = done;
            let url = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
            client(url).await
        },
    )
}

async fn serve_tcp(tell: oneshot::Sender<String>) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?;
    let addr = listener.local_addr().map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?;
    let _ = tell.send(format!("http://{addr}"));
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = Server::builder().add_service(Echo).serve_with_incoming(incoming).await;
    served.map_err(Error::while_doing(ErrorKind::Socket, "serving by tonic"))
}

#[cfg(feature = "local")]
async fn serve_unix(tell: oneshot::Sender<String>) -> Result<(), Error> {
    let failed = || Error::while_doing(ErrorKind::Socket, "listening by tonic");
    let folder = tempfile::TempDir::new().map_err(failed())?;
    let path = folder.path().join("tonic.sock");
    let listener = tokio::net::UnixListener::bind(&path).map_err(failed())?;
    let _ = tell.send(format!("unix://{}", path.display()));
    let incoming = futures_util::stream::unfold(listener, async |listener| {
        let accepted = listener.accept().await.map(|(socket, _)| socket);
        Some((accepted, listener))
    });
    let served = Server::builder().add_service(Echo).serve_with_incoming(incoming).await;
    served.map_err(Error::while_doing(ErrorKind::Socket, "serving by tonic"))
}

async fn connected(url: &str) -> Result<Channel, Error> {
    let endpoint = Endpoint::from_shared(url.to_owned());
    let endpoint = endpoint.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    let channel = endpoint.tcp_nodelay(true).connect().await;
    channel.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))
}

async fn ask(channel: Channel, bytes: Vec<u8>) -> Result<usize, Error> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))?;
    let codec = ProstCodec::<Bytes, Bytes>::default();
    let path = http::uri::PathAndQuery::from_static(PATH);
    let echoed = grpc.unary(Request::new(Bytes { bytes }), path, codec).await;
    let echoed = echoed.map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))?;
    Ok(echoed.into_inner().bytes.len())
}
