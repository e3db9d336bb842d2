//! The loop that answers the calls of one connection.

use super::handlers::{Handlers, Progress};
use super::{Request, Service};
use crate::rpc::encode::Encoder;
use crate::rpc::message::{CallId, Content};
use crate::rpc::trace::{self, Trace};
use crate::rpc::transient::TransientErrors;
use crate::rpc::{Failure, FailureKind, Message};
use bertha_core::{Base, BoxFuture, Buf, Connection, DropCounter, Error, ErrorKind, Runtime};
use futures_util::future::{Either, select};
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

/// The messages that are received at a time.
const BURST: usize = 64;

/// The answers after which they are sent although there is more to do.
const FLUSH: usize = 256;

/// The calls of one client under way, unless another limit is set.
const CONCURRENCY: usize = 1024;

/// Answers the calls of one connection, to be awaited: by [`serve`].
#[must_use = "nothing is answered before it is awaited"]
pub struct Serve<C, S> {
    connection: C,
    service: S,
    concurrency: usize,
    of_no_call: DropCounter,
}

/// Answers the calls that come over a connection of [`Rpc`](crate::rpc::Rpc) with a service, until the client closes.
///
/// The future does all the work: handlers run in it, in turn. A handler whose call is cancelled, or whose deadline has passed, is
/// dropped. If the future itself is dropped, so are all handlers, and their clients learn it when the connection ends.
///
/// # Errors
/// Those of the connection, but [`Closed`](ErrorKind::Closed).
pub fn serve<C, S>(connection: C, service: S) -> Serve<C, S>
where
    C: Connection<Data = Message>,
    S: Service,
{
    Serve { connection, service, concurrency: CONCURRENCY, of_no_call: DropCounter::default() }
}

impl<C, S> Serve<C, S> {
    /// Sets how many calls may be under way, 1,024 otherwise. One beyond fails at once, with
    /// [`Overloaded`](FailureKind::Overloaded).
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Counts the messages there that are dropped since they are of no call: calls that came twice, or after their cancellation, and what a
    /// client does not send.
    pub fn counting(self, of_no_call: DropCounter) -> Self {
        Self { of_no_call, ..self }
    }
}

impl<C, S> IntoFuture for Serve<C, S>
where
    C: Connection<Data = Message>,
    S: Service,
{
    type Output = Result<(), Error>;
    type IntoFuture = BoxFuture<'static, Self::Output>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let Self { connection, service, concurrency, of_no_call } = self;
            match answer(&connection, &service, concurrency, &of_no_call).await {
                Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
                ended => ended,
            }
        })
    }
}

impl<C, S> fmt::Debug for Serve<C, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Serve").field("concurrency", &self.concurrency).finish_non_exhaustive()
    }
}

/// The event that ended a wait.
enum Event {
    Received(Result<usize, Error>),
    Woken,
    Expired,
}

async fn answer<C, S>(
    connection: &C,
    service: &S,
    concurrency: usize,
    of_no_call: &DropCounter,
) -> Result<(), Error>
where
    C: Connection<Data = Message>,
    S: Service,
{
    let runtime = connection.base().runtime();
    let mut handlers = Handlers::new(concurrency);
    let mut outbox = Outbox::new(connection, service);
    let (mut arrived, mut woken) = (Vec::with_capacity(BURST), Vec::new());
    let mut errors = TransientErrors::default();
    let mut timer: Option<(Instant, BoxFuture<'static, ()>)> = None;
    loop {
        if let Some(earliest) = handlers.earliest()
            && timer.as_ref().is_none_or(|(due, _)| earliest < *due)
        {
            timer = Some((earliest, Box::pin(runtime.sleep_until(earliest))));
        }
        let event = {
            let received = pin!(connection.recv_batch(&mut arrived, BURST));
            let others = poll_fn(|cx| {
                if handlers.poll_woken(cx, &mut woken).is_ready() {
                    return Poll::Ready(Event::Woken);
                }
                match &mut timer {
                    Some((_, sleep)) => sleep.as_mut().poll(cx).map(|()| Event::Expired),
                    None => Poll::Pending,
                }
            });
            match select(received, others).await {
                Either::Left((received, _)) => Event::Received(received),
                Either::Right((event, _)) => event,
            }
        };
        match event {
            Event::Received(Ok(_)) => errors.reset(),
            Event::Received(Err(error)) => errors.tolerate(connection, error).await?,
            Event::Woken => {}
            Event::Expired => timer = None,
        }
        // Also while messages come without a pause.
        if let Some(earliest) = handlers.earliest()
            && runtime.now() >= earliest
        {
            outbox.messages.extend(handlers.expire(runtime.now()).into_iter().map(expired));
        }
        for message in arrived.drain(..) {
            let Message { call, content, body } = message;
            let slot = match (content, body) {
                (Content::Call { .. }, _) if handlers.is_void(call) => {
                    of_no_call.add(1);
                    None
                }
                (Content::Call { .. }, _) if handlers.is_full() => {
                    outbox.messages.push(overloaded(call, concurrency));
                    None
                }
                (Content::Call { method, milliseconds, is_traced }, Some(mut body)) => {
                    let trace = if is_traced { take_trace(&mut body) } else { None };
                    let within = Duration::from_millis(milliseconds.into());
                    let deadline = if milliseconds == 0 { None } else { runtime.now().checked_add(within) };
                    let answering = service.call(Request::new(method, body, deadline));
                    let answering = trace::handling(method, trace, answering);
                    Some(handlers.start(call, deadline, answering))
                }
                (Content::Cancel, _) => {
                    handlers.cancel(call);
                    None
                }
                (Content::Credit { parts }, _) => handlers.credit(call, parts),
                // Not from a client.
                _ => {
                    of_no_call.add(1);
                    None
                }
            };
            if let Some(slot) = slot {
                while let Poll::Ready(Some((call, progress))) = handlers.poll(slot) {
                    outbox.add(call, progress);
                }
            }
        }
        handlers.take_woken(&mut woken);
        for slot in woken.drain(..) {
            while let Poll::Ready(Some((call, progress))) = handlers.poll(slot) {
                outbox.add(call, progress);
            }
            if outbox.messages.len() >= FLUSH {
                outbox.flush().await?;
            }
        }
        outbox.flush().await?;
    }
}

/// Takes the trace off the front of a traced call. A body without the room for one has none, and stays as it is.
fn take_trace(body: &mut Buf) -> Option<Trace> {
    let trace = Trace::of_bytes(*body.first_chunk()?);
    body.advance(trace::LENGTH).ok()?;
    Some(trace)
}

/// Answers that were not sent yet.
struct Outbox<'a, C, S> {
    connection: &'a C,
    service: &'a S,
    encoder: Encoder,
    messages: Vec<Message>,
    /// The calls of a burst, for the failure to send it.
    calls: Vec<CallId>,
}

impl<'a, C: Connection<Data = Message>, S: Service> Outbox<'a, C, S> {
    fn new(connection: &'a C, service: &'a S) -> Self {
        let (messages, calls) = Default::default();
        Self { connection, service, encoder: Encoder::new(connection), messages, calls }
    }

    #[inline]
    fn add(&mut self, call: CallId, progress: Progress<S::Response>) {
        let (content, encoded) = match progress {
            Progress::Response(response) => (Content::Response, self.encode(&response)),
            Progress::Part { index, response } => (Content::Part { index }, self.encode(&response)),
            Progress::End { parts } => {
                self.messages.push(Message::signal(call, Content::End { parts }));
                return;
            }
            Progress::Failure(failure) => (Content::Response, Err(failure)),
        };
        self.messages.push(match encoded {
            Ok(body) => Message { call, content, body: Some(body) },
            Err(failure) => refusal(call, &failure),
        });
    }

    #[inline]
    fn encode(&self, response: &S::Response) -> Result<Buf, Failure> {
        self.encoder
            .encode(self.connection, self.service.limit(), |into| self.service.encode(response, into))
            .map_err(Failure::after_running)
    }

    async fn flush(&mut self) -> Result<(), Error> {
        if self.messages.is_empty() {
            return Ok(());
        }
        self.calls.clear();
        self.calls.extend(self.messages.iter().map(|message| message.call));
        match self.connection.send_batch(self.messages.drain(..)).await {
            Err(error) if !error.ends_connection() => self.fail(&error).await,
            sent => sent,
        }
    }

    /// Fails the calls of a burst that was sent in part. Those that were answered pass over it.
    #[cold]
    async fn fail(&mut self, error: &Error) -> Result<(), Error> {
        let failure = Failure::of_connection(error, true);
        for call in &self.calls {
            match self.connection.send(refusal(*call, &failure)).await {
                Err(error) if error.ends_connection() => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }
}

#[cold]
fn refusal(call: CallId, failure: &Failure) -> Message {
    // The longest text that fits everywhere.
    const LONGEST: usize = 512;
    let text = failure.text();
    let text = &text[..text.floor_char_boundary(LONGEST)];
    Message { call, content: Content::Failure(failure.kind()), body: Buf::copy_of(text.as_bytes(), 64).ok() }
}

#[cold]
fn overloaded(call: CallId, concurrency: usize) -> Message {
    let what = format!("{concurrency} calls of this client are under way, the limit of the server");
    refusal(call, &Failure::of(FailureKind::Overloaded, what))
}

#[cold]
fn expired(call: CallId) -> Message {
    refusal(call, &Failure::of(FailureKind::TimedOut, "the server had no response before the deadline"))
}
