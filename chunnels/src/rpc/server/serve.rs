//! The loop that answers the calls of one connection.

use super::handlers::{Handlers, Made, Progress};
use super::leaving::{CLOSING, Leaving};
use super::open_calls::OpenCalls;
use super::outbox::{Outbox, send};
use super::panics::caught;
use super::shutdown::Watched;
use super::waiting::Waiting;
use super::{Reply, Request, ServedCalls, Service, Shutdown};
use crate::rpc::message::{CallId, Content};
use crate::rpc::transient::TransientErrors;
use crate::rpc::{Failure, Message, Metadata, Trace, WaitingBytes, spans};
use bertha_core::{
    Base, BoxFuture, Buf, Connection, DropCounter, Error, ErrorKind, PeerIdentity, Runtime, debug_fields,
};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::future::{pending, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

/// The messages that are received at a time.
const BURST: usize = 64;

/// The calls of one client under way, unless another limit is set.
const CONCURRENCY: usize = 1024;

/// The bytes of requests of streams that wait for the handlers of one client, unless another limit is set.
const WAITING_BYTES: usize = 256 << 20;

/// Answers the calls of one connection, to be awaited: by [`serve`].
#[must_use = "nothing is answered before it is awaited"]
pub struct Serve<C, S> {
    connection: C,
    service: S,
    concurrency: usize,
    waiting_bytes: usize,
    waiting: WaitingBytes,
    of_no_call: DropCounter,
    calls: ServedCalls,
    peer: Option<PeerIdentity>,
    shutdown: Option<Watched>,
}

/// Answers the calls that come over a connection of [`Rpc`](crate::rpc::Rpc) with a service, until the client closes.
///
/// The future does all the work: handlers run in it, in turn. A handler whose call is cancelled, or whose deadline has passed, is
/// dropped, also while the client reads no answers. If the future itself is dropped, so are all handlers, and their clients learn it when
/// the connection ends. A handler that panics fails its own call, with [`Failed`](crate::rpc::FailureKind::Failed), and the panic is logged.
///
/// A [`Shutdown`] lets a server end without a call that fails in doubt.
///
/// Answers are sent in bursts of at most 256, which end once they have 256 KiB, so a client that does not read costs the server one burst, the
/// next one, and its handlers.
///
/// # Errors
/// The errors of the connection, but [`Closed`](ErrorKind::Closed).
pub fn serve<C, S>(connection: C, service: S) -> Serve<C, S>
where
    C: Connection<Data = Message>,
    S: Service,
{
    let (of_no_call, calls) = Default::default();
    Serve {
        connection,
        service,
        concurrency: CONCURRENCY,
        waiting_bytes: WAITING_BYTES,
        waiting: WaitingBytes::of_servers(),
        of_no_call,
        calls,
        peer: None,
        shutdown: None,
    }
}

impl<C, S> Serve<C, S> {
    /// Sets how many calls may be under way, 1,024 otherwise. A call beyond is refused, with this number: the client keeps to it from then
    /// on, and makes the call again once it has room. Only a refused call with a stream of requests or of responses fails, with
    /// [`Overloaded`](crate::rpc::FailureKind::Overloaded).
    pub fn concurrency(self, concurrency: usize) -> Self {
        Self { concurrency, ..self }
    }

    /// Sets how many bytes of requests of streams may wait for their handlers, 256 MiB otherwise: those of all streams of
    /// the connection together. A stream whose request exceeds it fails with
    /// [`Overloaded`](crate::rpc::FailureKind::Overloaded). A request is always taken if no other waits. The first request
    /// of a call waits from the time when its handler [asks](Request::requests) for the stream, until the stream is over.
    ///
    /// A client whose handler is slow is held back: the server grants a stream as many requests of its longest as take an
    /// eighth of the room that is left, at least one, and at first of the longest message of the connection. So streams
    /// exceed the limit only if they are many, or if their requests grow: 15 streams whose requests behind a short first have
    /// 16 MiB are within 256 MiB, and so are eight that begin at the same time.
    pub fn waiting_bytes(self, waiting_bytes: usize) -> Self {
        Self { waiting_bytes, ..self }
    }

    /// Bounds the same bytes by `waiting`, with all other connections that are served with it together. Otherwise all
    /// connections of the process share 1 GiB. A stream beyond it fails as above.
    pub fn waiting_with(self, waiting: &WaitingBytes) -> Self {
        Self { waiting: waiting.clone(), ..self }
    }

    /// Sets the counter of messages that are dropped since they are of no call: calls that came twice or after their cancellation,
    /// requests of streams that came after the end of their call or were not granted, and messages that only a server sends.
    pub fn counting(self, of_no_call: DropCounter) -> Self {
        Self { of_no_call, ..self }
    }

    /// Counts the calls with `calls`, with which other connections may count as well.
    pub fn counted_by(self, calls: &ServedCalls) -> Self {
        Self { calls: calls.clone(), ..self }
    }

    /// Shuts the connection down once `shutdown` begins, with which other connections may shut down as well.
    pub fn until(self, shutdown: &Shutdown) -> Self {
        Self { shutdown: Some(shutdown.watched()), ..self }
    }

    /// Sets the identity that handlers find in their [`Context`](super::Context). Otherwise handlers find the identity
    /// that the connection [tells](Connection::peer_identity), as negotiated connections do.
    pub fn peer(self, peer: PeerIdentity) -> Self {
        Self { peer: Some(peer), ..self }
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
            match answer(self).await {
                Err(error) if error.kind() == ErrorKind::Closed => Ok(()),
                ended => ended,
            }
        })
    }
}

debug_fields!(Serve < C, S > { concurrency, waiting_bytes });

/// The event that ended a wait.
enum Event {
    Received(Result<usize, Error>),
    Woken,
    Expired,
    /// The server shuts down, with this grace.
    Stopping(Duration),
}

/// The wait for a shutdown, which keeps its handle waiting until it is dropped.
type Stop = BoxFuture<'static, (Duration, Watched)>;

/// Returns the grace once a shutdown begins.
fn poll_stop(stop: &mut Option<Stop>, watched: &mut Option<Watched>, cx: &mut Context<'_>) -> Poll<Event> {
    let Some(waiting) = stop else { return Poll::Pending };
    let (grace, handle) = ready!(waiting.as_mut().poll(cx));
    (*stop, *watched) = (None, Some(handle));
    Poll::Ready(Event::Stopping(grace))
}

async fn answer<C, S>(serve: Serve<C, S>) -> Result<(), Error>
where
    C: Connection<Data = Message>,
    S: Service,
{
    let Serve { connection, service, concurrency, of_no_call, calls, peer, shutdown, .. } = serve;
    let stop = shutdown.map(|mut watched| -> Stop { Box::pin(async { (watched.begun().await, watched) }) });
    let waiting = Waiting::new(serve.waiting_bytes, serve.waiting, connection.mtu());
    let open = OpenCalls::new(&connection, peer, waiting);
    let begin = |method, request, trace| spans::handling(None, method, trace, service.call(request));
    let answering = Answering {
        connection: &connection,
        begin,
        handlers: Handlers::new(concurrency, calls.clone()),
        outbox: Outbox::new(&connection, &service, &open, calls.clone()),
        open: &open,
        concurrency,
        of_no_call: &of_no_call,
        served: &calls,
        ready: VecDeque::new(),
        calls: Vec::new(),
        timer: None,
        leaving: Leaving::No,
        stop,
        watched: None,
    };
    answering.run().await
}

/// The calls of a connection.
struct Answering<'a, C, S: Service, B, F> {
    connection: &'a C,
    /// Makes the future that answers a call.
    begin: B,
    handlers: Handlers<'a, F, S::Response>,
    outbox: Outbox<'a, C, S>,
    open: &'a OpenCalls<'a>,
    concurrency: usize,
    of_no_call: &'a DropCounter,
    served: &'a ServedCalls,
    /// The slots whose futures can go on. Each is polled once in its turn.
    ready: VecDeque<usize>,
    /// The calls of a burst that is sent, for the failure to send it.
    calls: Vec<CallId>,
    timer: Option<Timer>,
    leaving: Leaving,
    stop: Option<Stop>,
    /// The handle of a shutdown that has begun.
    watched: Option<Watched>,
}

/// The time of a deadline, and the wait for it.
type Timer = (Instant, BoxFuture<'static, ()>);

impl<'a, C, S, B, F> Answering<'a, C, S, B, F>
where
    C: Connection<Data = Message>,
    S: Service,
    B: Fn(u32, Request<'a>, Option<Trace>) -> F,
    F: Future<Output = Result<Reply<'a, S::Response>, Failure>>,
{
    async fn run(mut self) -> Result<(), Error> {
        match self.answer_all().await {
            // The client goes, since the server does.
            Err(_) if self.leaving.has_begun() => Ok(()),
            Ok(()) => {
                let runtime = self.connection.base().runtime();
                let (closing, late) =
                    (pin!(self.connection.close()), pin!(runtime.sleep_until(runtime.now() + CLOSING)));
                // A client that does not read is reset.
                let _ = select(closing, late).await;
                Ok(())
            }
            ended => ended,
        }
    }

    /// Answers until the connection ends with an error, or is to be closed.
    async fn answer_all(&mut self) -> Result<(), Error> {
        let mut errors = TransientErrors::default();
        let mut arrived = Vec::with_capacity(BURST);
        loop {
            match self.wait(&mut arrived).await {
                Event::Received(Ok(_)) => errors.reset(),
                Event::Received(Err(error)) => errors.tolerate(self.connection, error).await?,
                Event::Woken => {}
                Event::Expired => self.timer = None,
                Event::Stopping(grace) => self.leave(grace),
            }
            // Also while messages come without a pause, and before the first call of a late connection.
            if self.stop.is_some() {
                let Self { stop, watched, .. } = self;
                let stopping = poll_fn(|cx| Poll::Ready(poll_stop(stop, watched, cx))).await;
                if let Poll::Ready(Event::Stopping(grace)) = stopping {
                    self.leave(grace);
                }
            }
            self.expire();
            for message in arrived.drain(..) {
                let Some(slot) = self.take_in(message) else { continue };
                if self.outbox.is_full() {
                    self.handlers.queue(slot, &mut self.ready);
                } else {
                    self.poll(slot);
                }
            }
            self.handlers.take_woken(&mut self.ready);
            while !self.outbox.is_full()
                && let Some(slot) = self.handlers.next(&mut self.ready)
            {
                self.poll(slot);
            }
            let outbox = &mut self.outbox;
            self.open.take_due(|call, content| outbox.tell(call, content));
            if !self.outbox.is_empty() {
                self.flush(&mut arrived).await?;
            }
            if self.leaving.is_over(!self.outbox.is_empty() || !arrived.is_empty()) {
                return Ok(());
            }
        }
    }

    /// Begins to shut down.
    #[cold]
    fn leave(&mut self, grace: Duration) {
        self.leaving.begin(self.connection.base().runtime().now(), grace);
        self.outbox.leaving();
    }

    /// Waits for the next event, if there is nothing to do.
    async fn wait(&mut self, arrived: &mut Vec<Message>) -> Event {
        self.arm();
        let Self { handlers, outbox, open, ready, timer, stop, watched, .. } = self;
        let received = pin!(self.connection.recv_batch(arrived, BURST));
        let others = poll_fn(|cx| {
            // Answers are there already if calls were refused while others were sent.
            let has_answers = !outbox.is_empty() || !ready.is_empty();
            if has_answers || handlers.poll_woken(cx, ready).is_ready() || open.poll_due(cx) {
                return Poll::Ready(Event::Woken);
            }
            if let Some((_, sleep)) = timer
                && sleep.as_mut().poll(cx).is_ready()
            {
                return Poll::Ready(Event::Expired);
            }
            poll_stop(stop, watched, cx)
        });
        match select(received, others).await {
            Either::Left((received, _)) => Event::Received(received),
            Either::Right((event, _)) => event,
        }
    }

    /// Sends the answers. A client that does not read holds them up, while its cancellations are heard and deadlines pass.
    async fn flush(&mut self, arrived: &mut Vec<Message>) -> Result<(), Error> {
        let (mut burst, bytes) = self.outbox.take();
        let answers = burst.len();
        let mut calls = std::mem::take(&mut self.calls);
        let sent = {
            let sending = pin!(send(self.connection, &mut burst, &mut calls));
            self.listen_while(sending, (answers, bytes), arrived).await
        };
        self.outbox.give_back(burst);
        if let Ok(Some(failure)) = &sent {
            // Clients that have the failure neither read on nor cancel.
            for call in calls.drain(..) {
                self.handlers.fail(call, failure);
                self.open.end(call);
            }
        }
        self.calls = calls;
        // Messages may have arrived as the last answer was sent.
        self.keep(arrived);
        sent.map(drop)
    }

    /// Handles messages and deadlines until `sending` is over, by which the numbers of answers and bytes in `burst`
    /// have left. Returns its outcome.
    async fn listen_while(
        &mut self,
        mut sending: Pin<&mut impl Future<Output = Result<Option<Failure>, Error>>>,
        burst: (usize, usize),
        arrived: &mut Vec<Message>,
    ) -> Result<Option<Failure>, Error> {
        let mut is_listening = true;
        let mut held = None;
        loop {
            self.arm();
            // Calls that are refused meanwhile take room as well.
            let listens = is_listening && !self.outbox.is_full();
            let event = {
                let waiting = pin!(async {
                    // Polled only if the connection below did not take the answers at once.
                    held.get_or_insert_with(|| self.served.held(burst.0, burst.1));
                    let Self { connection, timer, stop, watched, .. } = self;
                    let stopping = |cx: &mut Context<'_>| poll_stop(stop, watched, cx);
                    next_event(*connection, timer, stopping, listens, arrived).await
                });
                match select(sending.as_mut(), waiting).await {
                    Either::Left((sent, _)) => return sent,
                    Either::Right((event, _)) => event,
                }
            };
            match event {
                // The error comes again when nothing is to be sent.
                Event::Received(Err(_)) => is_listening = false,
                Event::Expired => self.timer = None,
                Event::Stopping(grace) => self.leave(grace),
                Event::Received(Ok(_)) | Event::Woken => {}
            }
            self.expire();
            if self.leaving == Leaving::Over {
                // The client does not read.
                return Ok(None);
            }
            self.keep(arrived);
        }
    }

    /// Handles messages whose futures wait for their turn.
    fn keep(&mut self, arrived: &mut Vec<Message>) {
        for message in arrived.drain(..) {
            if let Some(slot) = self.take_in(message) {
                self.handlers.queue(slot, &mut self.ready);
            }
        }
    }

    /// Handles a message of the client. Returns the slot whose future can go on.
    fn take_in(&mut self, message: Message) -> Option<usize> {
        let Message { call, content, has_metadata, body } = message;
        match (content, body) {
            (Content::Call { .. }, _) if self.handlers.is_void(call) => {
                self.unexpected();
                None
            }
            (Content::Call { .. }, _) if self.leaving.has_begun() => {
                self.outbox.late(call);
                None
            }
            (Content::Call { .. }, _) if self.handlers.is_full() => {
                self.outbox.no_room(call, self.concurrency);
                None
            }
            (Content::Call { method, milliseconds, is_traced }, Some(mut body)) => {
                let trace = if is_traced { take_trace(&mut body) } else { None };
                let within = Duration::from_millis(milliseconds.into());
                let now = || self.connection.base().runtime().now();
                let deadline = if milliseconds == 0 { None } else { now().checked_add(within) };
                let taken = if has_metadata { Metadata::take(&mut body) } else { Ok(Metadata::new()) };
                let metadata = match taken {
                    Ok(metadata) => metadata,
                    Err(error) => {
                        self.served.begun();
                        self.outbox.fail(call, &Failure::of_metadata(&error));
                        return None;
                    }
                };
                let request = Request { call, method, body, deadline, metadata, open: self.open };
                match caught(method, || (self.begin)(method, request, trace)) {
                    Ok(answering) => Some(self.handlers.start(call, method, deadline, answering)),
                    Err(failure) => {
                        self.served.begun();
                        self.outbox.fail(call, &failure);
                        None
                    }
                }
            }
            (Content::Cancel, _) => {
                self.handlers.cancel(call);
                self.open.end(call);
                None
            }
            (Content::Credit { parts }, _) => self.handlers.credit(call, parts),
            (Content::Part { index }, Some(body)) => {
                let is_expected = self.open.on_part(call, index, body);
                self.expect(is_expected)
            }
            (Content::End { parts }, _) => {
                let is_expected = self.open.on_end(call, parts);
                self.expect(is_expected)
            }
            // Not from a client.
            _ => {
                self.unexpected();
                None
            }
        }
    }

    /// Counts a message of a stream of requests that belongs to no call. No slot can go on by it: a handler that waits
    /// for a request is woken.
    fn expect(&self, is_expected: bool) -> Option<usize> {
        if !is_expected {
            self.unexpected();
        }
        None
    }

    /// Counts a message that belongs to no call.
    #[cold]
    fn unexpected(&self) {
        self.of_no_call.add(1);
        self.served.unexpected();
    }

    /// Polls the future of a slot once, and takes in its answer. A stream that has made a response waits for its next turn.
    fn poll(&mut self, slot: usize) {
        if let Poll::Ready(Some(Made { call, method, progress })) = self.handlers.poll(slot) {
            let is_part = matches!(progress, Progress::Part { .. });
            match self.outbox.add(call, method, progress) {
                true if is_part => self.handlers.queue_again(slot, &mut self.ready),
                // The client expects no further parts, and cancels nothing.
                false if is_part => self.handlers.end(slot),
                _ => {}
            }
        }
    }

    /// Sets the timer to the first deadline, unless it is due earlier already.
    fn arm(&mut self) {
        let next = [self.handlers.earliest(), self.leaving.next()].into_iter().flatten().min();
        if let Some(earliest) = next
            && self.timer.as_ref().is_none_or(|(due, _)| earliest < *due)
        {
            let sleep = self.connection.base().runtime().sleep_until(earliest);
            self.timer = Some((earliest, Box::pin(sleep)));
        }
    }

    /// Drops the handlers whose deadline has come.
    fn expire(&mut self) {
        if self.leaving.has_begun() && self.leaving.advance(self.connection.base().runtime().now()) {
            for call in self.handlers.end_all() {
                self.outbox.cut(call);
            }
            self.ready.clear();
        }
        let Some(earliest) = self.handlers.earliest() else { return };
        let now = self.connection.base().runtime().now();
        if now >= earliest {
            for call in self.handlers.expire(now) {
                self.outbox.expired(call);
            }
        }
    }
}

/// Waits for messages of the client if `listens`, for the timer, and for `stopping`.
async fn next_event<C: Connection<Data = Message>>(
    connection: &C,
    timer: &mut Option<Timer>,
    mut stopping: impl FnMut(&mut Context<'_>) -> Poll<Event>,
    listens: bool,
    arrived: &mut Vec<Message>,
) -> Event {
    let received =
        pin!(async { if listens { connection.recv_batch(arrived, BURST).await } else { pending().await } });
    let others = poll_fn(|cx| {
        if let Some((_, sleep)) = timer
            && sleep.as_mut().poll(cx).is_ready()
        {
            return Poll::Ready(Event::Expired);
        }
        stopping(cx)
    });
    match select(received, others).await {
        Either::Left((received, _)) => Event::Received(received),
        Either::Right((event, _)) => event,
    }
}

/// Takes the trace off the front of a traced call, also bytes that name none. A body that is too short for a trace stays as it is.
fn take_trace(body: &mut Buf) -> Option<Trace> {
    let trace = *body.first_chunk()?;
    body.advance(Trace::SIZE).ok()?;
    Trace::read(&trace)
}
