//! A request over HTTP/2, and its response.

use crate::doors::grpc::formats::status::Status;
use crate::doors::grpc::formats::{body, time, trace, translate};
use crate::failures::code::Code;
use crate::schemas::typed::Typed;
use bertha_core::Buf;
use bertha_managed::Trace;
use bertha_schemas::{Limits, MessageId, PrivateMemory};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Reason, RecvStream};
use http::header::{CONTENT_TYPE, TE};
use http::{Method, Request, Response, StatusCode, Version};
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A request that waits to be sent.
#[derive(Debug)]
pub(super) struct Asked {
    pub(super) method: u32,
    /// The frame, and the address of the message in it.
    pub(super) frame: Option<PrivateMemory>,
    pub(super) at: u64,
    /// Number of milliseconds that are left; zero is no limit.
    pub(super) milliseconds: u32,
    pub(super) trace: Option<Trace>,
}

/// The frame of a response, and the address of the message in it.
pub(super) type Answer = (Buf, u64);

/// The failure of a call.
#[derive(Debug)]
pub(super) struct Failed {
    pub(super) status: Status,
    pub(super) may_have_run: bool,
}

/// Sends a request, and waits for the response. The future resets the stream when it is dropped.
pub(super) async fn ask(
    typed: &Typed,
    sender: SendRequest<Bytes>,
    origin: &str,
    asked: Asked,
    reading: &Semaphore,
) -> Result<Answer, Failed> {
    let messages = typed.method(asked.method).ok_or_else(unknown).map_err(Failed::before)?;
    let (request, body) = prepare(typed, messages.request, origin, asked).map_err(Failed::before)?;
    let unsent = |error: h2::Error| Failed::before(body::broken(&error));
    let mut sender = sender.ready().await.map_err(unsent)?;
    let (response, mut stream) = sender.send_request(request, false).map_err(unsent)?;
    // A stream that takes no more of the body has its response, or the reason, in the place of the response.
    let _written = body::write(&mut stream, body, true).await;
    let response = response.await.map_err(|error| Failed::of(&error))?;
    Ok(read(typed, messages.response, response, reading).await?)
}

/// Returns the head and the body of a request.
fn prepare(
    typed: &Typed,
    message: MessageId,
    origin: &str,
    asked: Asked,
) -> Result<(Request<()>, Bytes), Status> {
    let frame = asked.frame.ok_or_else(|| Status::new(Code::Internal, "the request has no message"))?;
    let body = translate::body(&typed.plan, message, &frame, asked.at)?;
    let mut head = head(typed, origin, asked.method, asked.milliseconds).ok_or_else(unknown)?;
    if let Some(trace) = asked.trace {
        trace::write(head.headers_mut(), trace);
    }
    Ok((head, body))
}

/// Reads a response.
async fn read(
    typed: &Typed,
    message: MessageId,
    response: Response<RecvStream>,
    reading: &Semaphore,
) -> Result<Answer, Status> {
    if response.status() != StatusCode::OK {
        return Err(of_http(response.status()));
    }
    if response.body().is_end_stream() {
        let silent = || Status::new(Code::Internal, "the server gives no response");
        return Err(Status::read(response.headers()).unwrap_or_else(silent));
    }
    let mut stream = response.into_body();
    let room = Room { reading, taken: None };
    // The deadline of the call is the limit of a server's time.
    let answer = body::read(&mut stream, Limits::default().encoded, room, Duration::MAX).await?;
    let trailers = stream.trailers().await.map_err(|error| body::broken(&error))?.unwrap_or_default();
    match Status::read(&trailers) {
        None => translate::frame(&typed.plan, message, &answer.bytes),
        Some(status) => Err(status),
    }
}

/// The part of the room for responses that one takes.
#[derive(Debug)]
struct Room<'a> {
    reading: &'a Semaphore,
    taken: Option<SemaphorePermit<'a>>,
}

impl body::Room for Room<'_> {
    fn grow(&mut self, more: usize) -> Result<(), Status> {
        let taken = self.reading.try_acquire_many(u32::try_from(more).unwrap_or(u32::MAX));
        let full =
            |_| Status::new(Code::ResourceExhausted, "the responses of the server take too much memory");
        let taken = taken.map_err(full)?;
        match &mut self.taken {
            Some(all) => all.merge(taken),
            none => *none = Some(taken),
        }
        Ok(())
    }
}

impl Failed {
    /// Returns the failure of a call that was not sent.
    fn before(status: Status) -> Self {
        Self { status, may_have_run: false }
    }

    /// Returns the failure of a call that the server has not answered. It did not run if the server refuses its stream, or says that it came
    /// behind the last that it takes (RFC 9113, sections 6.8 and 8.7).
    fn of(error: &h2::Error) -> Self {
        let is_refused = error.is_reset() && error.reason() == Some(Reason::REFUSED_STREAM);
        let is_behind = error.is_go_away();
        Self { status: body::broken(error), may_have_run: !(error.is_remote() && (is_refused || is_behind)) }
    }
}

impl From<Status> for Failed {
    fn from(status: Status) -> Self {
        Self { status, may_have_run: true }
    }
}

#[cold]
fn unknown() -> Status {
    Status::new(Code::Unimplemented, "the schema has no such method")
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
