//! Calls by tonic: gRPC without TLS, over TCP or a Unix socket.

use super::load::{Load, Sample};
use crate::harness::{Placement, meet};
use crate::{Error, ErrorKind};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{Ipv4Addr, SocketAddr};
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

/// The service and the path of its method.
const SERVICE: &str = "bench.Calls";
const PATH: &str = "/bench.Calls/Ask";

#[derive(Clone, PartialEq, prost::Message)]
struct Bytes {
    #[prost(bytes = "vec", tag = "1")]
    bytes: Vec<u8>,
}

/// A message in protobuf.
pub(crate) trait Message: prost::Message + Default + 'static {}

impl<M: prost::Message + Default + 'static> Message for M {}

/// The only method of a service, which a function answers.
pub(crate) struct Method<Q, A>(pub(crate) fn(Q) -> A);

impl<Q, A> Clone for Method<Q, A> {
    fn clone(&self) -> Self {
        Self(self.0)
    }
}

impl<Q, A> NamedService for Method<Q, A> {
    const NAME: &'static str = SERVICE;
}

impl<Q: Message, A: Message> UnaryService<Q> for Method<Q, A> {
    type Response = A;
    type Future = Ready<Result<Response<A>, Status>>;

    fn call(&mut self, request: Request<Q>) -> Self::Future {
        ready(Ok(Response::new((self.0)(request.into_inner()))))
    }
}

impl<Q: Message, A: Message> Service<http::Request<Body>> for Method<Q, A> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let method = self.clone();
        Box::pin(async {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<A, Q>::default());
            Ok(grpc.unary(method, request).await)
        })
    }
}

fn echo() -> Method<Bytes, Bytes> {
    Method(|bytes| bytes)
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
    serve(echo(), |addr| drop(tell.send(format!("http://{addr}")))).await
}

/// Serves over TCP, and tells the address before.
pub(crate) async fn serve<Q: Message, A: Message>(
    method: Method<Q, A>,
    tell: impl FnOnce(SocketAddr),
) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?;
    tell(listener.local_addr().map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = Server::builder().add_service(method).serve_with_incoming(incoming).await;
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
    let served = Server::builder().add_service(echo()).serve_with_incoming(incoming).await;
    served.map_err(Error::while_doing(ErrorKind::Socket, "serving by tonic"))
}

pub(crate) async fn connected(url: &str) -> Result<Channel, Error> {
    let endpoint = Endpoint::from_shared(url.to_owned());
    let endpoint = endpoint.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    let channel = endpoint.tcp_nodelay(true).connect().await;
    channel.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))
}

async fn ask(channel: Channel, bytes: Vec<u8>) -> Result<usize, Error> {
    Ok(call::<_, Bytes>(channel, Bytes { bytes }).await?.bytes.len())
}

/// Calls the method.
pub(crate) async fn call<Q: Message, A: Message>(channel: Channel, question: Q) -> Result<A, Error> {
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))?;
    let codec = ProstCodec::<Q, A>::default();
    let path = http::uri::PathAndQuery::from_static(PATH);
    let answer = grpc.unary(Request::new(question), path, codec).await;
    answer.map(Response::into_inner).map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))
}
