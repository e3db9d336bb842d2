//! Answers that were not sent yet.

use super::Service;
use super::handlers::Progress;
use super::panics::caught;
use super::served_calls::ServedCalls;
use crate::rpc::encode::Encoder;
use crate::rpc::message::{CallId, Content};
use crate::rpc::{Failure, FailureKind, Message};
use bertha_core::{Buf, Connection, Error};

/// The answers, and their bytes, after which they are sent although there is more to do.
pub(super) const FLUSH: usize = 256;
const FLUSH_BYTES: usize = 256 << 10;

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
    calls: ServedCalls,
}

impl<'a, C: Connection<Data = Message>, S: Service> Outbox<'a, C, S> {
    pub(super) fn new(connection: &'a C, service: &'a S, calls: ServedCalls) -> Self {
        let (messages, spare) = Default::default();
        Self { connection, service, encoder: Encoder::new(connection), messages, bytes: 0, spare, calls }
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
        let (content, encoded) = match progress {
            Progress::Response(response) => (Content::Response, self.encode(method, &response)),
            Progress::Part { index, response } => (Content::Part { index }, self.encode(method, &response)),
            Progress::End { parts } => {
                self.calls.answered();
                self.push(Message::signal(call, Content::End { parts }));
                return true;
            }
            Progress::Failure(failure) => {
                self.fail(call, &failure);
                return true;
            }
        };
        match encoded {
            Ok(body) => {
                if matches!(content, Content::Response) {
                    self.calls.answered();
                }
                self.bytes += body.len();
                self.push(Message { call, content, body: Some(body) });
                true
            }
            Err(failure) => {
                self.fail(call, &failure);
                false
            }
        }
    }

    /// Fails a call that has begun.
    #[cold]
    pub(super) fn fail(&mut self, call: CallId, failure: &Failure) {
        self.calls.failed(failure);
        self.push(refusal(call, failure));
    }

    /// Refuses a call that is one too many.
    #[cold]
    pub(super) fn no_room(&mut self, call: CallId, concurrency: usize) {
        self.calls.refused();
        let calls = u32::try_from(concurrency).unwrap_or(u32::MAX);
        self.push(Message::signal(call, Content::Full { calls }));
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
    fn encode(&self, method: u32, response: &S::Response) -> Result<Buf, Failure> {
        self.encoder
            .encode(self.connection, self.service.limit(), |into| {
                caught(method, || self.service.encode(response, into)).flatten()
            })
            .map_err(Failure::after_running)
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

/// Sends answers.
///
/// # Errors
/// The errors that end the connection.
pub(super) async fn send<C: Connection<Data = Message>>(
    connection: &C,
    burst: &mut Vec<Message>,
    calls: &mut Vec<CallId>,
) -> Result<(), Error> {
    calls.clear();
    calls.extend(burst.iter().map(|message| message.call));
    match connection.send_batch(burst.drain(..)).await {
        Err(error) if !error.ends_connection() => fail(connection, calls, &error).await,
        sent => sent,
    }
}

/// Fails the calls of a burst that was sent in part. Those that were answered pass over it.
#[cold]
async fn fail<C: Connection<Data = Message>>(
    connection: &C,
    calls: &[CallId],
    error: &Error,
) -> Result<(), Error> {
    let failure = Failure::of_connection(error, true);
    for call in calls {
        match connection.send(refusal(*call, &failure)).await {
            Err(error) if error.ends_connection() => return Err(error),
            _ => {}
        }
    }
    Ok(())
}

#[cold]
fn refusal(call: CallId, failure: &Failure) -> Message {
    // The longest text that fits everywhere.
    const LONGEST: usize = 512;
    let text = failure.text();
    let text = &text[..text.floor_char_boundary(LONGEST)];
    let content = Content::Failure { kind: failure.kind(), may_have_run: failure.may_have_run() };
    Message { call, content, body: Buf::copy_of(text.as_bytes(), 64).ok() }
}
