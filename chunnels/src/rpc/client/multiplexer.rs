//! Calls of many tasks over one connection.

mod parts;
mod requests;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;

use super::calls::{Calls, Streams};
use super::room::Room;
use super::{Answer, CallStatistics, Caller, ResponseParts};
use crate::rpc::encode::{Encode, Encoder};
use crate::rpc::message::{CallId, MAX_SLOT};
use crate::rpc::transient::TransientErrors;
use crate::rpc::{Failure, FailureKind, Message, Metadata, Method, OF_NO_CALL, Trace, WaitingBytes, spans};
use crate::task_end::{self, runtime_ended};
use bertha_core::{Base, Connection, Drops, Error, Runtime};
use futures_util::Stream;
use futures_util::future::{Either, select};
use parking_lot::{Mutex, MutexGuard};
pub use parts::MultiplexedParts;
use requests::send_requests;
use std::fmt;
use std::future::poll_fn;
use std::pin::pin;
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

/// The messages that are received, and calls that are answered, at a time.
const BURST: usize = 64;

/// The pause before a call is made that was refused twice; it doubles with each further refusal, up to 128 times as long.
const PAUSE: Duration = Duration::from_millis(1);

/// The calls under way, unless another limit is set: as many as a server allows by default.
const LIMIT: usize = 1024;

type TaskOf<C> = <<<C as Connection>::Base as Base>::Runtime as Runtime>::Task;

/// Calls of many tasks over one connection of [`Rpc`](crate::rpc::Rpc). Clones share it.
///
/// Two tasks of the connection's runtime belong to it, until the last clone is dropped: one receives for all, the other sends
/// cancellations, and calls that are made at the same time, in bursts. A single call is sent by its caller.
pub struct Multiplexer<C: Connection> {
    held: Arc<Held<C>>,
}

/// The shared part of all clones: the tasks end with it.
struct Held<C: Connection> {
    shared: Arc<MultiplexerShared<C>>,
    _tasks: [TaskOf<C>; 2],
}

pub(super) struct MultiplexerShared<C: Connection> {
    connection: C,
    encoder: Encoder,
    room: Room,
    /// Locked for single steps, never while foreign code runs or anything waits.
    state: Mutex<MultiplexerState<TaskOf<C>>>,
}

struct MultiplexerState<Task> {
    calls: Calls,
    /// The task that sends, while it waits for messages.
    sender: Option<Waker>,
    /// Fails calls at a time that is no later than the first deadline.
    timer: Option<(Instant, Task)>,
}

impl<C: Connection<Data = Message>> Multiplexer<C> {
    /// Calls over `connection`, at most 1,024 at a time.
    pub fn new(connection: C) -> Self {
        Self::with_limit(connection, LIMIT)
    }

    /// Calls over `connection`, at most `limit` at a time. A call beyond waits, in turn and up to its deadline, until a call under way has
    /// ended. A server that allows fewer calls refuses a call; from then on the server's limit holds, and the refused call is made again, unless it
    /// has a stream of responses or of requests. A call that is refused several times is made ever more rarely, at last every 128 ms. Without a
    /// deadline a task waits for ever that holds all the room by streams which it does not read.
    pub fn with_limit(connection: C, limit: usize) -> Self {
        let limit = limit.clamp(1, MAX_SLOT as usize);
        let state = MultiplexerState { calls: Calls::new(limit), sender: None, timer: None };
        let encoder = Encoder::new(&connection);
        let room = Room::new(limit);
        let shared = Arc::new(MultiplexerShared { connection, encoder, room, state: Mutex::new(state) });
        let ended = shared.clone();
        let runtime = shared.connection.base().runtime();
        let receiver = task_end::spawn(runtime, receive(shared.clone()), move || ended.end(&runtime_ended()));
        let sender = runtime.spawn(send(shared.clone()));
        Self { held: Arc::new(Held { shared, _tasks: [receiver, sender] }) }
    }

    /// Bounds the bytes of responses that wait for their callers by `waiting`, with all other clients that have it. Otherwise
    /// all clients of the process share 1 GiB. Streams that are open already keep their bound.
    ///
    /// A stream with a response beyond it fails with [`Overloaded`](FailureKind::Overloaded), and those of its responses that
    /// wait are dropped. A response is always taken if no other of its stream waits, and so is that of a call without a
    /// stream, which counts from 4 KiB on: so a stream that is read goes on, whatever others hold.
    ///
    /// ```
    /// # use bertha_chunnels::rpc::{Client, Message, Multiplexer, WaitingBytes};
    /// # use bertha_core::Connection;
    /// # fn example<C: Connection<Data = Message>>(connections: Vec<C>) -> Vec<Client<Multiplexer<C>>> {
    /// let waiting = WaitingBytes::new(64 << 20);
    /// let client = |connection| Client::over(Multiplexer::new(connection).waiting_with(&waiting));
    /// connections.into_iter().map(client).collect()
    /// # }
    /// ```
    #[must_use]
    pub fn waiting_with(self, waiting: &WaitingBytes) -> Self {
        self.held.shared.state.lock().calls.wait_with(waiting);
        self
    }

    /// Returns the number of calls under way.
    pub fn in_flight(&self) -> usize {
        self.held.shared.state.lock().calls.in_flight()
    }

    /// Returns the counts and the state of the calls, to be added to the statistics of the connection:
    ///
    /// ```
    /// # use bertha_chunnels::rpc::{Message, Multiplexer};
    /// # use bertha_core::{Connection, Statistics};
    /// # fn example<C: Connection<Data = Message>>(multiplexer: &Multiplexer<C>, of_connection: impl Fn(&C) -> Statistics) {
    /// let mut statistics = of_connection(multiplexer.connection());
    /// statistics.add("Calls", multiplexer.statistics());
    /// # }
    /// ```
    pub fn statistics(&self) -> CallStatistics {
        let shared = &self.held.shared;
        let state = shared.state.lock();
        let (ended, failed) = state.calls.over();
        CallStatistics {
            under_way: state.calls.in_flight() as u64,
            limit: shared.room.limit() as u64,
            waiting: shared.room.waiting() as u64,
            ended,
            failed,
            unexpected: state.calls.unexpected(),
        }
    }

    /// Returns the number of messages that belonged to no call: answers to cancelled calls, mostly.
    pub fn unexpected(&self) -> u64 {
        self.held.shared.state.lock().calls.unexpected()
    }

    /// Returns the counts as a report, to be added to the report of the connection:
    ///
    /// ```
    /// # use bertha_chunnels::rpc::{Message, Multiplexer};
    /// # use bertha_core::{Connection, Drops};
    /// # fn example<C: Connection<Data = Message>>(multiplexer: &Multiplexer<C>, of_connection: impl Fn(&C) -> Drops) {
    /// let mut drops = of_connection(multiplexer.connection());
    /// drops += &multiplexer.drops();
    /// # }
    /// ```
    pub fn drops(&self) -> Drops {
        let mut drops = Drops::default();
        drops.add("Rpc", OF_NO_CALL, self.unexpected());
        drops
    }

    /// Returns the connection. What it receives or sends on its own is missing in the calls.
    pub fn connection(&self) -> &C {
        &self.held.shared.connection
    }

    /// Returns true if the server has said that it shuts down. Further calls fail with
    /// [`Unavailable`](crate::rpc::FailureKind::Unavailable), and the connection closes after the last call under way.
    pub fn is_leaving(&self) -> bool {
        self.held.shared.state.lock().calls.is_leaving()
    }

    /// Closes the connection. Calls under way, and later ones, fail with [`Disconnected`](crate::rpc::FailureKind::Disconnected).
    ///
    /// # Errors
    /// The errors of the connection.
    pub async fn close(&self) -> Result<(), Error> {
        self.held.shared.connection.close().await
    }

    /// Waits until there is room for a call.
    ///
    /// # Errors
    /// `TimedOut` once the deadline has passed.
    async fn room(&self, until: Option<Instant>) -> Result<CallPlace<C>, Failure> {
        let shared = &self.held.shared;
        if !shared.room.try_take() {
            let taken = pin!(shared.room.take());
            match until {
                None => taken.await,
                Some(until) => {
                    let expired = pin!(shared.connection.base().runtime().sleep_until(until));
                    if let Either::Right(_) = select(taken, expired).await {
                        return Err(no_room_in_time());
                    }
                }
            }
        }
        Ok(CallPlace { held: self.held.clone() })
    }

    /// Waits before a call is made again that the server has refused several times, although the client keeps to the
    /// server's limit: otherwise both ends would be busy with that call alone.
    async fn pause(&self, refusals: u32, until: Option<Instant>) {
        let shared = &self.held.shared;
        let again = shared.now() + PAUSE * (1 << refusals.saturating_sub(2).min(7));
        shared.connection.base().runtime().sleep_until(until.map_or(again, |until| until.min(again))).await;
    }

    fn until(&self, deadline: Option<Duration>) -> Option<Instant> {
        deadline.and_then(|within| self.held.shared.now().checked_add(within))
    }

    /// Begins a call once there is room for it, and sends it.
    async fn begin(
        &self,
        method: Method,
        until: Option<Instant>,
        metadata: &Metadata,
        request: &(impl Encode + ?Sized),
        streams: Streams,
    ) -> Result<Pending<C>, Failure> {
        let place = self.room(until).await?;
        let shared = &self.held.shared;
        let write = |into: &mut [u8]| request.encode(into);
        let mut body = shared.encoder.encode_behind(metadata, &shared.connection, request.limit(), write)?;
        // A call without room for its trace goes without it.
        let is_traced = spans::of_caller().is_some_and(|trace| {
            let room = body.prepend(Trace::SIZE);
            room.map(|room| room.copy_from_slice(&trace.to_bytes())).is_ok()
        });
        let within = until.map(|until| until.saturating_duration_since(shared.now()));
        let (message, pending) = {
            let mut state = shared.state.lock();
            let id = state.calls.begin(streams, until)?;
            let pending = Pending { place, id, is_done: false };
            let message = Calls::message(id, method, within, body, is_traced, !metadata.is_empty());
            shared.arm(&mut state);
            if state.calls.in_flight() == 1 && !state.calls.has_outgoing() {
                (message, pending)
            } else {
                // With those of other callers, in a burst.
                state.calls.enqueue(message);
                MultiplexerShared::<C>::wake_sender(state);
                return Ok(pending);
            }
        };
        match shared.connection.send(message).await {
            Ok(()) => Ok(pending),
            Err(error) => Err(pending.not_sent(&error)),
        }
    }
}

impl<C: Connection<Data = Message>> Caller for Multiplexer<C> {
    type Parts = MultiplexedParts<C>;

    fn has_room(&self) -> bool {
        let room = &self.held.shared.room;
        let has_room = room.try_take();
        if has_room {
            room.give_back();
        }
        has_room
    }

    async fn room(&self) {
        let room = &self.held.shared.room;
        room.take().await;
        room.give_back();
    }

    fn ask<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send {
        spans::calling(None, method.name(), async move {
            let until = self.until(deadline);
            let mut refusals = 0;
            loop {
                let mut pending = self.begin(method, until, metadata, request, Streams::Neither).await?;
                let answer = poll_fn(|cx| {
                    let mut state = pending.place.held.shared.state.lock();
                    let answered = state.calls.poll_answer(pending.id, cx.waker());
                    pending.is_done = answered.is_ready();
                    if state.calls.is_leaving() {
                        MultiplexerShared::<C>::wake_sender(state);
                    }
                    answered
                })
                .await;
                match answer {
                    // The server's limit holds by now.
                    Err(failure) if failure.is_refusal() => refusals += 1,
                    answer => return answer,
                }
                drop(pending);
                if refusals > 1 {
                    Box::pin(self.pause(refusals, until)).await;
                }
            }
        })
    }

    async fn open<E: Encode + ?Sized>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
    ) -> Result<Self::Parts, Failure> {
        // The span ends once the call is sent; its responses come later.
        let until = self.until(deadline);
        let opening = self.begin(method, until, metadata, request, Streams::Responses);
        let pending = spans::calling(None, method.name(), opening).await?;
        Ok(MultiplexedParts { pending, trailers: Metadata::new(), _requests: None })
    }

    fn ask_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> impl Future<Output = Result<Answer, Failure>> + Send {
        spans::calling(None, method.name(), async move {
            let begun = self.begin(method, self.until(deadline), metadata, request, Streams::Requests);
            let mut parts = begun.await?.with_requests(requests);
            let response = poll_fn(|cx| parts.poll_part(cx)).await.ok_or_else(no_response)??;
            // The end has come with the response.
            let _ = poll_fn(|cx| parts.poll_part(cx)).await;
            Ok(Answer::new(response, std::mem::take(&mut parts.trailers)))
        })
    }

    async fn open_with_requests<E: Encode + ?Sized, I: Encode + Send + 'static>(
        &self,
        method: Method,
        deadline: Option<Duration>,
        metadata: &Metadata,
        request: &E,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> Result<Self::Parts, Failure> {
        let opening = self.begin(method, self.until(deadline), metadata, request, Streams::Both);
        Ok(spans::calling(None, method.name(), opening).await?.with_requests(requests))
    }
}

/// Room for a call. Dropping it gives the room to the next one.
struct CallPlace<C: Connection> {
    held: Arc<Held<C>>,
}

impl<C: Connection> Drop for CallPlace<C> {
    fn drop(&mut self) {
        self.held.shared.room.give_back();
    }
}

/// A call under way. Dropping it cancels the call.
struct Pending<C: Connection> {
    place: CallPlace<C>,
    id: CallId,
    is_done: bool,
}

impl<C: Connection> Pending<C> {
    #[inline]
    fn shared(&self) -> &MultiplexerShared<C> {
        &self.place.held.shared
    }

    /// Returns the failure of a call that was not sent.
    #[cold]
    fn not_sent(mut self, error: &Error) -> Failure {
        self.is_done = true;
        self.shared().state.lock().calls.forget(self.id);
        Failure::of_connection(error, error.ends_connection())
    }
}

impl<C: Connection> Drop for Pending<C> {
    fn drop(&mut self) {
        if !self.is_done {
            let mut state = self.shared().state.lock();
            state.calls.cancel(self.id);
            MultiplexerShared::<C>::wake_sender(state);
        }
    }
}

impl<C: Connection<Data = Message>> Pending<C> {
    /// Begins to send a stream of requests, within the connection's runtime.
    fn with_requests<I: Encode + Send + 'static>(
        self,
        requests: impl Stream<Item = I> + Send + 'static,
    ) -> MultiplexedParts<C> {
        let shared = self.place.held.shared.clone();
        let (ended, call) = (shared.clone(), self.id);
        let runtime = self.shared().connection.base().runtime();
        let sending = send_requests(shared, call, requests);
        let task = task_end::spawn(runtime, sending, move || ended.requests_ended(call));
        MultiplexedParts { pending: self, trailers: Metadata::new(), _requests: Some(task) }
    }
}

impl<C: Connection> MultiplexerShared<C> {
    fn now(&self) -> Instant {
        self.connection.base().runtime().now()
    }

    /// Wakes the task that sends, if there is something to send and it waits for that. Unlocks first.
    #[inline]
    fn wake_sender(mut state: MutexGuard<'_, MultiplexerState<TaskOf<C>>>) {
        if !state.calls.has_outgoing() && !state.calls.has_left() {
            return;
        }
        let sender = state.sender.take();
        drop(state);
        if let Some(sender) = sender {
            sender.wake();
        }
    }

    fn end(&self, error: &Error) {
        let mut woken = Vec::new();
        self.state.lock().calls.end(&Failure::of_connection(error, false), &mut woken);
        self.room.close();
        woken.into_iter().for_each(Waker::wake);
    }
}

impl<C: Connection<Data = Message>> MultiplexerShared<C> {
    /// Sets the timer to the first deadline, unless it is due earlier already.
    #[inline]
    fn arm(self: &Arc<Self>, state: &mut MultiplexerState<TaskOf<C>>) {
        if let Some(earliest) = state.calls.earliest()
            && state.timer.as_ref().is_none_or(|(due, _)| earliest < *due)
        {
            let shared = Arc::downgrade(self);
            let task = self.connection.base().runtime().spawn_at(earliest, expire(shared));
            state.timer = Some((earliest, task));
        }
    }
}

/// Fails the calls whose deadlines have come.
async fn expire<C: Connection<Data = Message>>(shared: Weak<MultiplexerShared<C>>) {
    let Some(shared) = shared.upgrade() else { return };
    let mut woken = Vec::new();
    let spent = {
        let mut state = shared.state.lock();
        let spent = state.timer.take();
        state.calls.expire(shared.now(), &mut woken);
        shared.arm(&mut state);
        MultiplexerShared::<C>::wake_sender(state);
        spent
    };
    woken.into_iter().for_each(Waker::wake);
    // This task, which is at its end.
    drop(spent);
}

/// Receives for all callers.
async fn receive<C: Connection<Data = Message>>(shared: Arc<MultiplexerShared<C>>) {
    let mut arrived = Vec::with_capacity(BURST);
    let mut woken = Vec::new();
    let mut errors = TransientErrors::default();
    loop {
        match shared.connection.recv_batch(&mut arrived, BURST).await {
            Ok(_) => errors.reset(),
            Err(error) => match errors.tolerate(&shared.connection, error).await {
                Ok(()) => continue,
                Err(error) => return shared.end(&error),
            },
        }
        {
            let mut state = shared.state.lock();
            for message in arrived.drain(..) {
                state.calls.on_message(message, &mut woken);
            }
            if let Some(calls) = state.calls.take_full_at() {
                shared.room.lower(calls);
            }
            if state.calls.is_leaving() {
                // The callers that wait fail, and may go elsewhere.
                shared.room.close();
            }
            MultiplexerShared::<C>::wake_sender(state);
        }
        woken.drain(..).for_each(Waker::wake);
    }
}

/// Sends what callers leave to it.
async fn send<C: Connection<Data = Message>>(shared: Arc<MultiplexerShared<C>>) {
    let mut burst = Vec::new();
    let mut calls = Vec::new();
    let mut errors = TransientErrors::default();
    loop {
        let has_left = poll_fn(|cx| {
            let mut state = shared.state.lock();
            if state.calls.has_outgoing() {
                return Poll::Ready(false);
            }
            if state.calls.has_left() {
                state.calls.leave();
                return Poll::Ready(true);
            }
            state.sender = Some(cx.waker().clone());
            Poll::Pending
        })
        .await;
        if has_left {
            // The server waits for the close, which tells that no further call comes.
            if let Err(error) = shared.connection.close().await {
                tracing::debug!(%error, "a connection whose server shuts down has not closed");
            }
            return;
        }
        // Callers that were woken together send together.
        yield_once().await;
        shared.state.lock().calls.swap_outgoing(&mut burst);
        calls.clear();
        calls.extend(burst.iter().map(|message: &Message| message.call));
        match shared.connection.send_batch(burst.drain(..)).await {
            Ok(()) => errors.reset(),
            Err(error) => {
                if !error.ends_connection() {
                    shared.fail(&calls, &error);
                }
                // The cancellations follow after a pause.
                if let Err(error) = errors.tolerate(&shared.connection, error).await {
                    return shared.end(&error);
                }
            }
        }
    }
}

impl<C: Connection> MultiplexerShared<C> {
    /// Fails calls of a burst that was sent in part.
    #[cold]
    fn fail(&self, calls: &[CallId], error: &Error) {
        let mut woken = Vec::new();
        self.state.lock().calls.fail_burst(calls, &Failure::of_connection(error, true), &mut woken);
        woken.into_iter().for_each(Waker::wake);
    }
}

#[cold]
fn no_room_in_time() -> Failure {
    let what = "as many calls of this client as may be were under way until the deadline";
    Failure::of(FailureKind::TimedOut, what).before_running()
}

#[cold]
fn no_response() -> Failure {
    Failure::of(FailureKind::Malformed, "the server has ended the call without a response").after_running()
}

/// Lets the other tasks that can run do so first.
async fn yield_once() {
    let mut has_yielded = false;
    poll_fn(|cx| {
        if has_yielded {
            return Poll::Ready(());
        }
        has_yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl<C: Connection> Clone for Multiplexer<C> {
    fn clone(&self) -> Self {
        Self { held: self.held.clone() }
    }
}

impl<C: Connection> fmt::Debug for Multiplexer<C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let in_flight = self.held.shared.state.lock().calls.in_flight();
        f.debug_struct("Multiplexer").field("in_flight", &in_flight).finish_non_exhaustive()
    }
}
