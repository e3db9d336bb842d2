//! Clients and servers of the hotel by tonic.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]
#![allow(dead_code, reason = "no test uses all of it")]

use std::convert::Infallible;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::task::{Context, Poll};
use tokio::net::TcpListener;
use tonic::body::Body;
use tonic::codegen::{BoxFuture, Service, http};
use tonic::server::{NamedService, UnaryService};
use tonic::transport::server::TcpIncoming;
use tonic::transport::{Channel, ClientTlsConfig, Endpoint, Server, ServerTlsConfig};
use tonic::{Code, Request, Response, Status};
use tonic_prost::ProstCodec;

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Asked {
    #[prost(string, tag = "1")]
    pub(crate) customer: String,
    #[prost(int32, tag = "2")]
    pub(crate) nights: i32,
    #[prost(string, repeated, tag = "3")]
    pub(crate) guests: Vec<String>,
}

#[derive(Clone, PartialEq, prost::Message)]
pub(crate) struct Answered {
    #[prost(string, tag = "1")]
    pub(crate) room: String,
    #[prost(int32, tag = "2")]
    pub(crate) price: i32,
}

/// A client of a server of gRPC.
#[derive(Debug, Clone)]
pub(crate) struct Stranger(Channel);

impl Stranger {
    pub(crate) async fn connect(to: &str) -> Self {
        Self(Endpoint::from_shared(format!("http://{to}")).unwrap().connect().await.unwrap())
    }

    /// Connects from an address of this machine.
    pub(crate) async fn connect_from(from: IpAddr, to: &str) -> Self {
        let endpoint = Endpoint::from_shared(format!("http://{to}")).unwrap().local_address(Some(from));
        Self(endpoint.connect().await.unwrap())
    }

    /// Connects by TLS when the first call needs it.
    pub(crate) fn secured(to: &str, tls: ClientTlsConfig) -> Self {
        let endpoint = Endpoint::from_shared(format!("https://{to}")).unwrap().tls_config(tls).unwrap();
        Self(endpoint.connect_lazy())
    }

    /// Calls a method of this path.
    pub(crate) async fn call(&self, path: &'static str, request: Request<Asked>) -> Result<Answered, Status> {
        let mut grpc = tonic::client::Grpc::new(self.0.clone()).max_decoding_message_size(16 << 20);
        grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
        let codec = ProstCodec::<Asked, Answered>::default();
        let path = http::uri::PathAndQuery::from_static(path);
        grpc.unary(request, path, codec).await.map(Response::into_inner)
    }

    pub(crate) async fn reserve(
        &self,
        customer: &str,
        nights: i32,
        guests: &[&str],
    ) -> Result<Answered, Status> {
        let guests = guests.iter().map(|guest| (*guest).to_owned()).collect();
        self.call("/hotel.Hotel/Reserve", Request::new(Asked { customer: customer.into(), nights, guests }))
            .await
    }
}

/// Returns a `google.rpc.Status` with an `ErrorInfo`.
fn sold_out() -> Vec<u8> {
    let text = |field: u8, content: &[u8]| [&[field << 3 | 2, content.len() as u8], content].concat();
    let info = [text(1, b"SOLD_OUT"), text(2, b"hotel.example")].concat();
    let any = [text(1, b"type.googleapis.com/google.rpc.ErrorInfo"), text(2, &info)].concat();
    [&[8, 10], &*text(2, b"sold out"), &*text(3, &any)].concat()
}

/// A server that answers as the hotel does: rooms of `eve` are refused, those of `sold out` and of `garbled` with details, those of `slow`
/// never come, that of `long` has a name that is longer than a message may be, and those of `traced` are named after the trace of the call.
#[derive(Clone)]
struct Hotel;

impl NamedService for Hotel {
    const NAME: &'static str = "hotel.Hotel";
}

impl UnaryService<Asked> for Hotel {
    type Response = Answered;
    type Future = BoxFuture<Response<Answered>, Status>;

    fn call(&mut self, request: Request<Asked>) -> Self::Future {
        let trace = request.metadata().get("traceparent").and_then(|trace| trace.to_str().ok());
        let trace = trace.unwrap_or_default().to_owned();
        let Asked { customer, nights, guests } = request.into_inner();
        Box::pin(async move {
            match customer.as_str() {
                "eve" => Err(Status::new(Code::PermissionDenied, "no room for eve, 100 % sure")),
                "sold out" => Err(Status::with_details(Code::Aborted, "sold out", sold_out().into())),
                "garbled" => Err(Status::with_details(Code::Aborted, "sold out", b"\xff"[..].into())),
                "slow" => std::future::pending().await,
                "long" => Ok(Response::new(Answered { room: "x".repeat(5 << 20), price: 0 })),
                "traced" => Ok(Response::new(Answered { room: trace, price: 0 })),
                _ => {
                    let room = format!("{customer}: {}", guests.join(", "));
                    Ok(Response::new(Answered { room, price: 100 * nights }))
                }
            }
        })
    }
}

impl Service<http::Request<Body>> for Hotel {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = BoxFuture<http::Response<Body>, Infallible>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        Box::pin(async move {
            let codec = ProstCodec::<Answered, Asked>::default();
            let mut grpc = tonic::server::Grpc::new(codec).max_decoding_message_size(16 << 20);
            match request.uri().path() {
                "/hotel.Hotel/Reserve" => Ok(grpc.unary(Hotel, request).await),
                _ => Ok(Status::unimplemented("no such method").into_http()),
            }
        })
    }
}

/// Serves in a task of this runtime. Returns the address.
pub(crate) async fn serve() -> SocketAddr {
    serve_by(Server::builder()).await
}

/// Serves by TLS in a task of this runtime. Returns the address.
pub(crate) async fn serve_secured(tls: ServerTlsConfig) -> SocketAddr {
    serve_by(Server::builder().tls_config(tls).unwrap()).await
}

async fn serve_by(mut server: Server) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
    let addr = listener.local_addr().unwrap();
    let incoming = TcpIncoming::from(listener).with_nodelay(Some(true));
    tokio::spawn(server.add_service(Hotel).serve_with_incoming(incoming));
    addr
}

/// A message that is encoded.
#[derive(Clone, PartialEq, Default)]
struct Raw(Vec<u8>);

impl prost::Message for Raw {
    fn encode_raw(&self, into: &mut impl prost::bytes::BufMut) {
        into.put_slice(&self.0);
    }

    fn merge_field(
        &mut self,
        _: u32,
        _: prost::encoding::WireType,
        _: &mut impl prost::bytes::Buf,
        _: prost::encoding::DecodeContext,
    ) -> Result<(), prost::DecodeError> {
        unreachable!("the message is read whole")
    }

    fn merge(&mut self, mut from: impl prost::bytes::Buf) -> Result<(), prost::DecodeError> {
        self.0 = from.copy_to_bytes(from.remaining()).to_vec();
        Ok(())
    }

    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}

/// Sends an encoded question, and returns the first encoded answer.
pub(crate) async fn ask(to: &str, path: &str, question: &[u8]) -> Result<Vec<u8>, Status> {
    let Stranger(channel) = Stranger::connect(to).await;
    let mut grpc = tonic::client::Grpc::new(channel);
    grpc.ready().await.map_err(|error| Status::unknown(error.to_string()))?;
    let questions = Request::new(futures_util::stream::iter([Raw(question.into())]));
    let path = path.parse::<http::uri::PathAndQuery>().unwrap();
    let answers = grpc.streaming(questions, path, ProstCodec::<Raw, Raw>::default()).await?;
    let answer = answers.into_inner().message().await?;
    Ok(answer.map(|Raw(bytes)| bytes).unwrap_or_default())
}
