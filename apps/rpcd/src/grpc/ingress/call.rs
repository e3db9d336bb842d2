//! A call of a stranger.

use super::head::{GRPC, head};
use super::party::{Parties, Party};
use super::told;
use crate::grpc::body::{self, Body};
use crate::grpc::status::{self, Code, Status};
use crate::grpc::{message, time, translate};
use bertha_managed::{Descriptor, InHeap};
use bertha_schemas::Limits;
use bytes::Bytes;
use h2::RecvStream;
use h2::server::SendResponse;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::time::timeout;

/// Time in which a request has to come whole, if it has no deadline.
const WHOLE: Duration = Duration::from_secs(60);

/// Answers a call. A caller that resets its stream cancels it.
pub(super) async fn answer(
    request: Request<RecvStream>,
    mut response: SendResponse<Bytes>,
    parties: Arc<Parties>,
) {
    if !is_grpc(&request) {
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
    let outcome = tokio::select! {
        outcome = outcome(request, &parties) => outcome,
        // Nobody waits for the outcome.
        _reset = poll_fn(|context| response.poll_reset(context)) => return,
    };
    if let Err(error) = send(response, outcome).await {
        tracing::debug!(%error, "a response over HTTP/2 is not sent");
    }
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
async fn outcome(request: Request<RecvStream>, parties: &Parties) -> Result<Bytes, Status> {
    let path = request.uri().path().strip_prefix('/').and_then(|path| path.split_once('/'));
    let (service, method) =
        path.ok_or_else(|| Status::new(Code::Unimplemented, "a path is /SERVICE/METHOD"))?;
    let party = parties.party(service)?;
    let number = party.link.typed.number(service, method);
    let unknown =
        || Status::new(Code::Unimplemented, &format!("{service} has no method {method} without streams"));
    let number = number.ok_or_else(unknown)?;
    let milliseconds = match request.headers().get(time::HEADER) {
        Some(header) => {
            let read = header.to_str().ok().and_then(time::milliseconds);
            read.ok_or_else(|| Status::new(Code::InvalidArgument, "the deadline is not understood"))?
        }
        None => 0,
    };
    let within = Duration::from_millis(milliseconds.into());
    let mut stream = request.into_body();
    let limit = Limits::default().encoded + message::PREFIX;
    let late = |_| Status::new(Code::DeadlineExceeded, "no response came in time");
    match milliseconds {
        0 => {
            let reading = body::read(&mut stream, limit, &parties.reading);
            let request = timeout(WHOLE, reading).await.map_err(late)??;
            call(&party, number, request, 0).await
        }
        _ => {
            let called = async {
                let request = body::read(&mut stream, limit, &parties.reading).await?;
                call(&party, number, request, milliseconds).await
            };
            timeout(within, called).await.map_err(late)?
        }
    }
}

/// Calls a method. The future cancels the call when it is dropped.
async fn call(party: &Party, method: u32, request: Body<'_>, milliseconds: u32) -> Result<Bytes, Status> {
    let plan = &party.link.typed.binding.plan;
    let unknown = || Status::new(Code::Unimplemented, "the schema has no such method");
    let messages = party.link.typed.method(method).ok_or_else(unknown)?;
    let (frame, at) = translate::frame(plan, messages.request, &request.bytes)?;
    drop(request);
    let (number, outcome) = party.pending.begin();
    let _cancelling = Cancelling { party, call: number };
    let message = InHeap { at, bytes: frame.len() as u32, number: party.link.keep(frame) };
    party.take(Descriptor::Request { call: number, method, message, milliseconds });
    match outcome.await {
        Ok(Ok((frame, at))) => translate::body(plan, messages.response, &frame, at),
        Ok(Err(refusal)) => Err(Status::of(refusal.kind, &refusal.reason)),
        Err(_) => Err(Status::new(Code::Unavailable, "the daemon ends")),
    }
}

/// A call that is cancelled if it has no outcome when this is dropped.
struct Cancelling<'a> {
    party: &'a Party,
    call: u64,
}

impl Drop for Cancelling<'_> {
    fn drop(&mut self) {
        if self.party.pending.forget(self.call) {
            self.party.take(Descriptor::Cancellation { call: self.call });
        }
    }
}

/// Sends the outcome of a call.
async fn send(mut response: SendResponse<Bytes>, outcome: Result<Bytes, Status>) -> Result<(), h2::Error> {
    let mut head = head();
    let body = match outcome {
        Ok(body) => body,
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
