//! A request over HTTP/2, and its response.

use crate::grpc::status::{Code, Status};
use crate::grpc::{body, message, time, translate};
use crate::typed::Typed;
use bertha_core::Buf;
use bertha_schemas::{Limits, PrivateMemory};
use bytes::Bytes;
use h2::client::SendRequest;
use http::header::{CONTENT_TYPE, TE};
use http::{Method, Request, StatusCode, Version};
use std::net::{IpAddr, SocketAddr};
use tokio::sync::Semaphore;

/// A request that waits to be sent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: u32,
    /// The frame, and the address of the message in it.
    pub(super) frame: Option<PrivateMemory>,
    pub(super) at: u64,
    /// Number of milliseconds that are left; zero is no limit.
    pub(super) milliseconds: u32,
}

/// The frame of a response, and the address of the message in it.
pub(super) type Answer = (Buf, u64);

/// Sends a request, and waits for the response. The future resets the stream when it is dropped.
pub(super) async fn ask(
    typed: &Typed,
    sender: SendRequest<Bytes>,
    origin: &str,
    asked: Asked,
    reading: &Semaphore,
) -> Result<Answer, Status> {
    let unknown = || Status::new(Code::Unimplemented, "the schema has no such method");
    let messages = typed.method(asked.method).ok_or_else(unknown)?;
    let frame = asked.frame.ok_or_else(|| Status::new(Code::Internal, "the request has no message"))?;
    let plan = &typed.plan;
    let encoded = translate::body(plan, messages.request, &frame, asked.at)?;
    drop(frame);
    let request = head(typed, origin, asked.method, asked.milliseconds).ok_or_else(unknown)?;
    let broken = |error: h2::Error| body::broken(&error);
    let mut sender = sender.ready().await.map_err(broken)?;
    let (response, mut stream) = sender.send_request(request, false).map_err(broken)?;
    body::write(&mut stream, encoded, true).await?;
    let response = response.await.map_err(broken)?;
    if response.status() != StatusCode::OK {
        return Err(of_http(response.status()));
    }
    if response.body().is_end_stream() {
        let silent = || Status::new(Code::Internal, "the server gives no response");
        return Err(Status::read(response.headers()).unwrap_or_else(silent));
    }
    let mut stream = response.into_body();
    let limit = Limits::default().encoded + message::PREFIX;
    let answer = body::read(&mut stream, limit, reading).await?;
    let trailers = stream.trailers().await.map_err(broken)?.unwrap_or_default();
    match Status::read(&trailers) {
        None => translate::frame(plan, messages.response, &answer.bytes),
        Some(status) => Err(status),
    }
}

/// Returns the beginning of the addresses of a server's methods.
pub(super) fn origin(name: &str, to: SocketAddr) -> String {
    match name.parse::<IpAddr>() {
        Ok(ip) => format!("https://{}", SocketAddr::new(ip, to.port())),
        Err(_) => format!("https://{name}:{}", to.port()),
    }
}

/// Returns the head of a request.
fn head(typed: &Typed, origin: &str, method: u32, milliseconds: u32) -> Option<Request<()>> {
    let method = typed.schema.methods().get(method as usize)?;
    let mut request = Request::builder()
        .method(Method::POST)
        .version(Version::HTTP_2)
        .uri(format!("{origin}/{}/{}", method.service, method.name))
        .header(CONTENT_TYPE, "application/grpc")
        .header(TE, "trailers");
    if milliseconds > 0 {
        request = request.header(time::HEADER, time::header(milliseconds));
    }
    request.body(()).ok()
}

/// Returns the status that stands for a code of HTTP, as the document "HTTP to gRPC Status Code Mapping" says.
fn of_http(status: StatusCode) -> Status {
    let code = match status.as_u16() {
        400 => Code::Internal,
        401 | 403 => Code::PermissionDenied,
        404 => Code::Unimplemented,
        429 | 502..=504 => Code::Unavailable,
        _ => Code::Unknown,
    };
    Status::new(code, &format!("the server answers with the HTTP status {status}"))
}
