//! A call of a stranger.

use super::head::{GRPC, head};
use super::party::{Parties, Party};
use super::reading::Room;
use super::told;
use crate::doors::grpc::formats::body::{self, Body};
use crate::doors::grpc::formats::status::{self, Status};
use crate::doors::grpc::formats::{message, time, trace, translate};
use crate::doors::grpc::pending::Outcome;
use crate::failures::code::Code;
use bertha_managed::{Descriptor, InHeap, Trace};
use bertha_schemas::{Limits, PrivateMemory};
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, request};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Semaphore, SemaphorePermit, oneshot};
use tokio::time::timeout;

/// Time in which a request has to come whole.
const WHOLE: Duration = Duration::from_secs(60);

/// Time in which the rest of a request has to come that is refused before it was whole.
const REST: Duration = Duration::from_secs(1);

/// Time in which the next bytes of a request have to come.
const NEXT: Duration = Duration::from_secs(10);

/// Answers a call. A caller that resets its stream cancels it.
pub(super) async fn answer(
    request: Request<RecvStream>,
    mut response: SendResponse<Bytes>,
    parties: Arc<Parties>,
) {
    if !is_grpc(&request) {
        parties.reading.credit.is_fault();
        let mut refused = Response::new(());
        *refused.status_mut() = StatusCode::UNSUPPORTED_MEDIA_TYPE;
        // The caller may have gone.
        let _sent = response.send_response(refused, true);
        return;
    }
    if told::is_about_services(request.uri().path()) {
        told::answer(request, response, &parties).await;
        return;
    }
    let (head, mut body) = request.into_parts();
    let outcome = tokio::select! {
        outcome = outcome(&head, &mut body, &parties) => outcome,
        // Nobody waits for the outcome.
        _reset = poll_fn(|context| response.poll_reset(context)) => return,
    };
    if let Err(error) = send(response, outcome).await {
        tracing::debug!(%error, "a response over HTTP/2 is not sent");
    }
    // What a request still has that was refused before it was whole.
    let _whole = timeout(REST, body::pass_over(&mut body)).await;
}

fn is_grpc(request: &Request<RecvStream>) -> bool {
    let content = request.headers().get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    let rest = content.and_then(|content| content.strip_prefix(GRPC.as_bytes()));
    // Other encodings than protobuf have a name behind a plus sign.
    let is_protobuf =
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b";") || rest.starts_with(b"+proto"));
    request.method() == Method::POST && is_protobuf
}

/// Makes the call, and returns the body of the response.
async fn outcome<'a>(
    head: &request::Parts,
    body: &mut RecvStream,
    parties: &'a Parties,
) -> Result<Answer<'a>, Status> {
    let addressed = addressed(head.uri.path(), parties)
        .and_then(|(party, number)| Ok((party, number, milliseconds(&head.headers)?)));
    let (party, number, milliseconds) = addressed.inspect_err(|status| {
        // A service that has no server now, and a deadline that has passed, are no fault of the caller.
        if matches!(status.code, Code::Unimplemented | Code::InvalidArgument) {
            parties.reading.credit.is_fault();
        }
    })?;
    let trace = trace::read(&head.headers);
    let called = async {
        let request = read(body, parties).await?;
        call(&party, number, request, (milliseconds, trace), &parties.writing).await
    };
    match milliseconds {
        0 => called.await,
        _ => {
            let late = |_| Status::new(Code::DeadlineExceeded, "no response came in time");
            timeout(Duration::from_millis(milliseconds.into()), called).await.map_err(late)?
        }
    }
}

/// Returns the party and the number of the method that a path names.
fn addressed(path: &str, parties: &Parties) -> Result<(Arc<Party>, u32), Status> {
    let parts = path.strip_prefix('/').and_then(|path| path.split_once('/'));
    let (service, method) =
        parts.ok_or_else(|| Status::new(Code::Unimplemented, "a path is /SERVICE/METHOD"))?;
    let party = parties.party(service)?;
    let number = party.link.typed.number(service, method);
    let unknown =
        || Status::new(Code::Unimplemented, &format!("{service} has no method {method} without streams"));
    Ok((party, number.ok_or_else(unknown)?))
}

/// Returns the number of milliseconds that a caller gives a call; zero is no limit.
fn milliseconds(headers: &HeaderMap) -> Result<u32, Status> {
    let Some(header) = headers.get(time::HEADER) else { return Ok(0) };
    match header.to_str().ok().and_then(time::milliseconds) {
        Some(0) => Err(Status::new(Code::DeadlineExceeded, "the deadline has passed")),
        Some(milliseconds) => Ok(milliseconds),
        None => Err(Status::new(Code::InvalidArgument, "the deadline is not understood")),
    }
}

async fn read<'a>(stream: &mut RecvStream, parties: &'a Parties) -> Result<Body<Room<'a>>, Status> {
    let room = parties.reading.begin()?;
    let reading = body::read(stream, Limits::default().encoded, room, NEXT);
    let late = |_| Status::new(Code::DeadlineExceeded, "the request did not come in time");
    timeout(WHOLE, reading).await.map_err(late)?
}

/// Calls a method. The future cancels the call when it is dropped.
async fn call<'a>(
    party: &Party,
    method: u32,
    request: Body<Room<'_>>,
    (milliseconds, trace): (u32, Option<Trace>),
    writing: &'a Semaphore,
) -> Result<Answer<'a>, Status> {
    let plan = &party.link.typed.plan;
    let unknown = || Status::new(Code::Unimplemented, "the schema has no such method");
    let messages = party.link.typed.method(method).ok_or_else(unknown)?;
    let (frame, at) = translate::frame(plan, messages.request, &request.bytes)?;
    drop(request);
    let mut call = Waiting::begin(party);
    let message = InHeap { at, bytes: frame.len() as u32, number: party.link.keep(frame) };
    party.take(Descriptor::Request { call: call.number, method, message, milliseconds, trace });
    let gone = || Status::new(Code::Unavailable, "the daemon ends");
    let response = match (&mut call.outcome).await {
        Ok(Ok(response)) => response,
        Ok(Err((refusal, details))) => return Err(Status::of(&refusal).with(details)),
        Err(_) => return Err(gone()),
    };
    call.response = Some(response);
    // No body has more bytes than the room.
    let longest = (Limits::default().encoded + message::PREFIX) as u32;
    let mut room = writing.acquire_many(longest).await.map_err(|_| gone())?;
    let frame = call.take_frame().ok_or_else(|| Status::new(Code::Internal, "the response is gone"))?;
    let body = translate::body(plan, messages.response, &frame, response.message().at)?;
    // What the body does not need is free for others.
    drop(room.split(longest as usize - body.len().min(longest as usize)));
    Ok((body, room))
}

/// A body, with its part of the room for responses.
type Answer<'a> = (Bytes, SemaphorePermit<'a>);

/// A call that waits for its outcome, or whose response waits to be sent. It is cancelled, or its response dropped, with this.
struct Waiting<'a> {
    party: &'a Party,
    number: u64,
    outcome: oneshot::Receiver<Outcome>,
    response: Option<Descriptor>,
}

impl<'a> Waiting<'a> {
    fn begin(party: &'a Party) -> Self {
        let (number, outcome) = party.pending.begin();
        Self { party, number, outcome, response: None }
    }

    fn take_frame(&mut self) -> Option<PrivateMemory> {
        let response = self.response.take()?;
        self.party.link.waiting(&response)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.party.pending.forget(self.number) {
            self.party.take(Descriptor::Cancellation { call: self.number });
        } else if let Ok(Ok(response)) = self.outcome.try_recv() {
            self.response = Some(response);
        }
        drop(self.take_frame());
    }
}

/// Sends the outcome of a call.
async fn send(
    mut response: SendResponse<Bytes>,
    outcome: Result<Answer<'_>, Status>,
) -> Result<(), h2::Error> {
    let mut head = head();
    let (body, _room) = match outcome {
        Ok(answer) => answer,
        Err(status) => {
            status.write(head.headers_mut());
            return response.send_response(head, true).map(drop);
        }
    };
    let mut stream = response.send_response(head, false)?;
    let mut trailers = HeaderMap::new();
    match body::write(&mut stream, body, false).await {
        Ok(()) => status::write_success(&mut trailers),
        Err(status) => status.write(&mut trailers),
    }
    stream.send_trailers(trailers)
}
