//! Services that call each other by gRPC, with tonic.

use super::managed::Managed;
use super::services::{Next, Service, Work, answered};
use super::way::Way;
use bertha_core::{Error, ErrorKind};
use bertha_program::cannot_listen;
use std::collections::HashMap;
use std::convert::Infallible;
use std::marker::PhantomData;
use std::net::SocketAddr;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::codegen::{BoxFuture, Service as HttpService, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

/// The addresses of services, without daemons.
#[derive(Debug)]
pub(super) struct Grpc {
    /// Address at which this service listens.
    pub(super) on: SocketAddr,
    /// Addresses of the services that it calls.
    pub(super) next: HashMap<String, SocketAddr>,
}

impl Way for Grpc {
    async fn find<S: Managed>(&self) -> Result<impl Next<S>, Error> {
        let addr = self.next.get(S::NAME).ok_or_else(|| {
            let name = S::NAME;
            Error::new(ErrorKind::Invalid, format!("--next {name}=ADDRESS says where {name} is"))
        })?;
        let endpoint = Endpoint::from_shared(format!("http://{addr}")).map_err(failed)?.tcp_nodelay(true);
        Ok(Client { channel: endpoint.connect().await.map_err(failed)?, service: PhantomData })
    }

    async fn serve<S: Managed>(
        self,
        work: impl Work<S>,
        is_ready: impl FnOnce(Option<SocketAddr>) + Send,
    ) -> Result<(), Error> {
        let listener = TcpListener::bind(self.on).await.map_err(|error| cannot_listen(self.on, error))?;
        is_ready(Some(listener.local_addr()?));
        let answers = Answers { work: Arc::new(work), service: PhantomData::<fn() -> S> };
        let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
        Server::builder().add_service(answers).serve_with_incoming(incoming).await.map_err(failed)
    }
}

/// A way to a service.
struct Client<S> {
    channel: Channel,
    service: PhantomData<fn() -> S>,
}

impl<S: Service> Next<S> for Client<S> {
    async fn call(&self, request: S::Request) -> Result<S::Answer, Error> {
        let mut grpc = tonic::client::Grpc::new(self.channel.clone());
        grpc.ready().await.map_err(failed)?;
        let codec = ProstCodec::<S::Request, S::Answer>::default();
        let path = PathAndQuery::from_static(S::PATH);
        let answer = grpc.unary(Request::new(request), path, codec).await.map_err(failed)?;
        Ok(answer.into_inner())
    }
}

/// A service that answers calls by its work.
struct Answers<S, W> {
    work: Arc<W>,
    service: PhantomData<fn() -> S>,
}

impl<S, W> Clone for Answers<S, W> {
    fn clone(&self) -> Self {
        Self { work: Arc::clone(&self.work), service: PhantomData }
    }
}

impl<S: Service, W> NamedService for Answers<S, W> {
    const NAME: &'static str = S::FULL_NAME;
}

impl<S: Service, W: Work<S>> UnaryService<S::Request> for Answers<S, W> {
    type Response = S::Answer;
    type Future = BoxFuture<Response<S::Answer>, Status>;

    fn call(&mut self, request: Request<S::Request>) -> Self::Future {
        let work = Arc::clone(&self.work);
        Box::pin(async move {
            let answer = answered(&*work, request.into_inner()).await;
            answer.map(Response::new).map_err(|error| Status::unknown(error.to_string()))
        })
    }
}

impl<S: Service, W: Work<S>> HttpService<http::Request<Body>> for Answers<S, W> {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let answers = self.clone();
        Box::pin(async move {
            if request.uri().path() != S::PATH {
                return Ok(Status::unimplemented("the service has one method").into_http());
            }
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<S::Answer, S::Request>::default());
            Ok(grpc.unary(answers, request).await)
        })
    }
}

#[cold]
fn failed(error: impl std::error::Error + Send + Sync + 'static) -> Error {
    Error::new(ErrorKind::Io, "a call by gRPC failed").because(error)
}
