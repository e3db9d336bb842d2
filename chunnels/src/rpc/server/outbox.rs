//! Answers that were not sent yet.

use super::Service;
use super::handlers::Progress;
use super::open_calls::OpenCalls;
use super::panics::caught;
use super::served_calls::ServedCalls;
use crate::rpc::encode::{Encoder, max_len};
use crate::rpc::message::{CallId, Content};
use crate::rpc::transient::TransientErrors;
use crate::rpc::{Failure, FailureKind, Message, Metadata};
use bertha_core::{Buf, Connection, Error};
use std::convert::Infallible;

/// The answers, and their bytes, after which they are sent although there is more to do.
pub(super) const FLUSH: usize = 256;
const FLUSH_BYTES: usize = 256 << 10;

/// Number of repetitions of the failures of a burst, about two seconds of pauses.
const REPETITIONS: u32 = 8;

/// Answers in the order in which they are sent.
pub(super) struct Outbox<'a, C, S> {
    connection: &'a C,
    service: &'a S,
    encoder: Encoder,
    messages: Vec<Message>,
    /// Bytes of the encoded bodies.
    bytes: usize,
    /// An empty list with its memory, for the next burst.
    spare: Vec<Message>,
    open: &'a OpenCalls<'a>,
    calls: ServedCalls,
}

impl<'a, C: Connection<Data = Message>, S: Service> Outbox<'a, C, S> {
    pub(super) fn new(
        connection: &'a C,
        service: &'a S,
        open: &'a OpenCalls<'a>,
        calls: ServedCalls,
    ) -> Self {
        let (encoder, messages, spare) = (Encoder::new(connection), Vec::new(), Vec::new());
        Self { connection, service, encoder, messages, bytes: 0, spare, open, calls }
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns true if the answers are to be sent before further ones are made.
    #[inline]
    pub(super) fn is_full(&self) -> bool {
        self.messages.len() >= FLUSH || self.bytes >= FLUSH_BYTES
    }

    /// Adds what a handler of `method` has made. Returns false if the call has failed by it, since there is no
    /// encoding.
    #[inline]
    pub(super) fn add(&mut self, call: CallId, method: u32, progress: Progress<S::Response>) -> bool {
        let (content, trailers, encoded) = match progress {
            Progress::Part { index, response } => {
                let none = Metadata::new();
                let encoded = self.encode(method, &none, &response);
                (Content::Part { index }, none, encoded)
            }
            Progress::Response(response) => {
                let trailers = self.open.end(call);
                let encoded = self.encode(method, &trailers, &response);
                (Content::Response, trailers, encoded)
            }
            Progress::End { parts } => {
                let trailers = self.open.end(call);
                let content = Content::End { parts };
                if trailers.is_empty() {
                    self.calls.answered();
                    self.push(Message::signal(call, content));
                    return true;
                }
                let encoded = self.encode_end(&trailers);
                (content, trailers, encoded)
            }
            Progress::Failure(failure) => {
                self.fail(call, &failure);
                return true;
            }
        };
        match encoded {
            Ok(body) => {
                if !matches!(content, Content::Part { .. }) {
                    self.calls.answered();
                }
                self.bytes += body.len();
                self.push(Message { call, content, has_metadata: !trailers.is_empty(), body: Some(body) });
                true
            }
            Err(failure) => {
                // A part leaves its call open, and has no trailers.
                let trailers = if trailers.is_empty() { self.open.end(call) } else { trailers };
                self.fail_with(call, &failure, &trailers);
                false
            }
        }
    }

    /// Fails a call that has begun.
    #[cold]
    pub(super) fn fail(&mut self, call: CallId, failure: &Failure) {
        let trailers = self.open.end(call);
        self.fail_with(call, failure, &trailers);
    }

    #[cold]
    fn fail_with(&mut self, call: CallId, failure: &Failure, trailers: &Metadata) {
        self.calls.failed(failure);
        let largest = max_len(self.connection);
        self.push(refusal(call, failure, trailers, largest));
    }

    /// Refuses a call that is one too many.
    #[cold]
    pub(super) fn no_room(&mut self, call: CallId, concurrency: usize) {
        self.calls.refused();
        let calls = u32::try_from(concurrency).unwrap_or(u32::MAX);
        self.push(Message::signal(call, Content::Full { calls }));
    }

    /// Tells the client about its stream of requests.
    #[cold]
    pub(super) fn tell(&mut self, call: CallId, content: Content) {
        self.push(Message::signal(call, content));
    }

    /// Tells the client that no further call begins.
    #[cold]
    pub(super) fn leaving(&mut self) {
        // Of no call: the client has no such slot in use, or another generation of it.
        let none = CallId { slot: 0, generation: 0 };
        self.push(Message::signal(none, Content::Leaving));
    }

    /// Refuses a call that has come too late.
    #[cold]
    pub(super) fn late(&mut self, call: CallId) {
        self.calls.refused();
        let failure = Failure::of(FailureKind::Unavailable, "the server shuts down");
        self.push(refusal(call, &failure, &Metadata::new(), 0));
    }

    /// Fails a call for which the server does not wait any longer.
    #[cold]
    pub(super) fn cut(&mut self, call: CallId) {
        let what = "the server shuts down, and did not wait for the call";
        self.fail(call, &Failure::of(FailureKind::Unavailable, what).after_running());
    }

    #[cold]
    pub(super) fn expired(&mut self, call: CallId) {
        self.fail(
            call,
            &Failure::of(FailureKind::TimedOut, "the server had no response before the deadline"),
        );
    }

    #[inline]
    fn push(&mut self, message: Message) {
        self.messages.push(message);
    }

    #[inline]
    fn encode(&self, method: u32, trailers: &Metadata, response: &S::Response) -> Result<Buf, Failure> {
        self.encoder
            .encode_behind(trailers, self.connection, self.service.limit_of(response), |into| {
                caught(method, || self.service.encode(response, into)).flatten()
            })
            .map_err(Failure::after_running)
    }

    /// Encodes the trailers of a stream.
    #[cold]
    fn encode_end(&self, trailers: &Metadata) -> Result<Buf, Failure> {
        let encoded = self.encoder.encode_behind(trailers, self.connection, usize::MAX, |_| Ok(Some(0)));
        encoded.map_err(Failure::after_running)
    }

    /// Takes all answers out, to be sent, with the number of bytes of their bodies.
    pub(super) fn take(&mut self) -> (Vec<Message>, usize) {
        let bytes = std::mem::take(&mut self.bytes);
        (std::mem::replace(&mut self.messages, std::mem::take(&mut self.spare)), bytes)
    }

    /// Takes back a list that was sent.
    pub(super) fn give_back(&mut self, mut sent: Vec<Message>) {
        sent.clear();
        self.spare = sent;
    }
}

/// Sends answers. Returns the failure of `calls`, the calls of the burst, if the burst was sent in part.
///
/// # Errors
/// The errors that end the connection.
pub(super) async fn send<C: Connection<Data = Message>>(
    connection: &C,
    burst: &mut Vec<Message>,
    calls: &mut Vec<CallId>,
) -> Result<Option<Failure>, Error> {
    calls.clear();
    // The news that the server leaves is of no call.
    let of_calls = burst.iter().filter(|message| message.content != Content::Leaving);
    calls.extend(of_calls.map(|message| message.call));
    match connection.send_batch(burst.drain(..)).await {
        Err(error) if !error.ends_connection() => fail(connection, calls, &error).await,
        sent => sent.map(|()| None),
    }
}

/// Fails the calls of a burst that was sent in part. Clients pass over the failure of a call that was answered. The
/// failures are repeated after errors that pass as well, in all a limited number of times: a client without an answer
/// waits until its deadline.
#[cold]
async fn fail<C: Connection<Data = Message>>(
    connection: &C,
    calls: &mut Vec<CallId>,
    error: &Error,
) -> Result<Option<Failure>, Error> {
    // A stream has many parts in a burst.
    calls.sort_unstable();
    calls.dedup();
    let failure = Failure::of_connection(error, true);
    let mut errors = TransientErrors::default();
    let mut repetitions = REPETITIONS;
    for call in calls {
        while let Err(error) = connection.send(refusal(*call, &failure, &Metadata::new(), 0)).await {
            if repetitions == 0 && !error.ends_connection() {
                break;
            }
            repetitions = repetitions.saturating_sub(1);
            errors.tolerate(connection, error).await?;
        }
    }
    Ok(Some(failure))
}

/// Returns the message of a failure, with its trailers if they fit into a message of `largest` bytes.
#[cold]
pub(in crate::rpc) fn refusal(
    call: CallId,
    failure: &Failure,
    trailers: &Metadata,
    largest: usize,
) -> Message {
    // The longest text that fits everywhere.
    const LONGEST: usize = 512;
    let text = failure.text();
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let content = Content::Failure { kind: failure.kind(), may_have_run: failure.may_have_run() };
    let length = trailers.length() + text.len();
    let has_metadata = !trailers.is_empty() && length <= largest;
    let body =
        if has_metadata { with_trailers(text, trailers) } else { Buf::copy_of(text.as_bytes(), 64).ok() };
    // Without a buffer there is neither text nor metadata.
    Message { call, content, has_metadata: has_metadata && body.is_some(), body }
}

/// Returns the words of a failure behind its trailers, or nothing without a buffer.
#[cold]
fn with_trailers(text: &str, trailers: &Metadata) -> Option<Buf> {
    let mut bytes = Buf::new(trailers.length() + text.len(), 64).ok()?;
    let copied = trailers.write_before::<Infallible>(&mut bytes, |into| {
        into.copy_from_slice(text.as_bytes());
        Ok(Some(into.len()))
    });
    copied.is_ok_and(|copied| copied.is_some()).then_some(bytes)
}
