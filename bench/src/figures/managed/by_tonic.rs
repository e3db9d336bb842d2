//! The applications by tonic.

use super::ANSWER;
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use std::convert::Infallible;
use std::future::{Ready, ready};
use std::net::{Ipv4Addr, SocketAddr};
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Endpoint, Server};
use tonic::{Request, Response, Status};
use tonic_prost::ProstCodec;

const PATH: &str = "/bench.Calls/Ask";

#[derive(Clone, PartialEq, prost::Message)]
struct Question {
    #[prost(bytes = "vec", tag = "1")]
    payload: Vec<u8>,
    #[prost(string, tag = "2")]
    customer: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(bytes = "vec", tag = "1")]
    payload: Vec<u8>,
}

#[derive(Clone)]
struct EightBytes;

impl NamedService for EightBytes {
    const NAME: &'static str = "bench.Calls";
}

impl UnaryService<Question> for EightBytes {
    type Response = Answer;
    type Future = Ready<Result<Response<Answer>, Status>>;

    fn call(&mut self, _: Request<Question>) -> Self::Future {
        ready(Ok(Response::new(Answer { payload: vec![7; ANSWER] })))
    }
}

impl Service<http::Request<Body>> for EightBytes {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async {
            let mut grpc = tonic::server::Grpc::new(ProstCodec::<Answer, Question>::default());
            Ok(grpc.unary(EightBytes, request).await)
        })
    }
}

/// Answers calls, and says its address in a line.
///
/// # Errors
/// Errors of the socket.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(super) async fn serve() -> Result<(), Error> {
    let listening = || Error::while_doing(ErrorKind::Socket, "listening by tonic");
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(listening())?;
    println!("ready at {}", listener.local_addr().map_err(listening())?);
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    let served = Server::builder().add_service(EightBytes).serve_with_incoming(incoming).await;
    served.map_err(Error::while_doing(ErrorKind::Socket, "serving by tonic"))
}

/// Makes the calls of a load.
///
/// # Errors
/// Errors of the connection, and the first call that fails.
pub(super) async fn ask(server: SocketAddr, load: Load) -> Result<Sample, Error> {
    let endpoint = Endpoint::from_shared(format!("http://{server}"));
    let endpoint = endpoint.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    let channel = endpoint.tcp_nodelay(true).connect().await;
    let channel = channel.map_err(Error::while_doing(ErrorKind::Socket, "connecting by tonic"))?;
    load.run(move |payload| {
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        async move {
            let length = payload.len();
            grpc.ready().await.map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))?;
            let codec = ProstCodec::<Question, Answer>::default();
            let path = http::uri::PathAndQuery::from_static(PATH);
            let question = Question { payload, customer: "alice".to_owned() };
            let answer = grpc.unary(Request::new(question), path, codec).await;
            let answer = answer.map_err(Error::while_doing(ErrorKind::Socket, "calling by tonic"))?;
            // A load counts the bytes that came back.
            Ok(if answer.into_inner().payload.len() == ANSWER { length } else { 0 })
        }
    })
    .await
}
