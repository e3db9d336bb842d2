//! Calls by tonic over TCP: gRPC without TLS.

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

/// The path of the method.
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

/// Makes calls to a server in a thread of its own.
pub(super) fn run(placement: Placement, load: Load) -> Result<Sample, Error> {
    let (tell, told) = oneshot::channel();
    let (stop, stopped) = oneshot::channel();
    meet(placement, || listen(tell, stopped), || call(told, load, stop))
}

async fn listen(tell: oneshot::Sender<SocketAddr>, stopped: oneshot::Receiver<()>) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await;
    let listener = listener.map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?;
    let addr = listener.local_addr().map_err(Error::while_doing(ErrorKind::Socket, "listening by tonic"))?;
    let _ = tell.send(addr);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let serving = Server::builder().add_service(Echo).serve_with_incoming(incoming);
    tokio::select! {
        served = serving => served.map_err(Error::while_doing(ErrorKind::Socket, "serving by tonic")),
        _ = stopped => Ok(()),
    }
}

async fn call(
    told: oneshot::Receiver<SocketAddr>,
    load: Load,
    stop: oneshot::Sender<()>,
) -> Result<Sample, Error> {
    let server = told.await.map_err(Error::while_doing(ErrorKind::Socket, "waiting for the server"))?;
    let endpoint = Endpoint::from_shared(format!("http://{server}"));
    let endpoint = endpoint.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    let channel = endpoint.tcp_nodelay(true).connect().await;
    let channel = channel.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    let sample = load
        .run(move |bytes| {
            let channel = channel.clone();
            async move { ask(channel, bytes).await }
        })
        .await;
    let _ = stop.send(());
    sample
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
