//! The calls under way at a client, without I/O.

mod failures;
mod stream;
mod waiting;

use super::Answer;
use crate::rpc::message::{CallId, Content, MAX_SLOT, Message};
use crate::rpc::parts::{Next, WINDOW};
use crate::rpc::{Failure, Metadata, Method, WaitingBytes};
use bertha_core::Buf;
use failures::{leaving, malformed, no_such_call, overloaded, reported, timed_out};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};
use stream::{Requests, Stream, Taken};
use waiting::WaitingResponses;

/// The table of calls: their ids, deadlines and answers, and the messages that have to go out.
///
/// A call has a slot from [`begin`](Self::begin) until its answer was taken, or it was [cancelled](Self::cancel). The slot is free at
/// once: its next call has another generation, so that an answer which comes late is none.
#[derive(Debug)]
pub(super) struct Calls {
    slots: Vec<Slot>,
    /// The slots without a call; the last is used first.
    free: Vec<u32>,
    limit: usize,
    /// No deadline of a call under way is earlier. It may be that of a call which is over.
    earliest: Option<Instant>,
    /// Messages that wait to be sent: no call begins while there are twice as many as calls may be under way.
    outgoing: Vec<Message>,
    /// The failure of each further call, once the connection has ended.
    ended: Option<Failure>,
    /// True once the server has said that it shuts down: no further call begins.
    is_leaving: bool,
    /// Number of calls that are over.
    over: u64,
    /// Number of calls whose callers got a failure.
    failed: u64,
    unexpected: u64,
    /// The calls at which the server was full, unless that was taken.
    full_at: Option<u32>,
    /// The single responses that wait for their callers, and the bound of all responses.
    answers: WaitingResponses,
}

#[derive(Debug)]
struct Slot {
    generation: u32,
    deadline: Option<Instant>,
    state: CallState,
}

#[derive(Debug)]
enum CallState {
    Free,
    /// Has no response, and will have one.
    Waiting(Option<Waker>),
    Answered(Result<Answer, Failure>),
    Streaming(Box<Stream>),
}

/// The streams of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Streams {
    /// The call has one request and one response.
    Neither,
    Responses,
    Requests,
    Both,
}

impl Calls {
    /// For this many calls at a time.
    pub(super) fn new(limit: usize) -> Self {
        let limit = limit.clamp(1, MAX_SLOT as usize);
        let (slots, free, outgoing) = Default::default();
        Self {
            slots,
            free,
            limit,
            earliest: None,
            outgoing,
            ended: None,
            is_leaving: false,
            over: 0,
            failed: 0,
            unexpected: 0,
            full_at: None,
            answers: WaitingResponses::new(&WaitingBytes::of_clients()),
        }
    }

    /// Bounds the bytes of responses that wait by `waiting`: of all single ones, and of streams that begin from now on.
    pub(super) fn wait_with(&mut self, waiting: &WaitingBytes) {
        self.answers.move_to(waiting);
    }

    /// Returns the number of calls under way, and of calls whose answers were not taken.
    pub(super) fn in_flight(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns the number of messages that belong to no call: late messages, mostly.
    pub(super) fn unexpected(&self) -> u64 {
        self.unexpected
    }

    /// Returns the number of calls that are over, and of the failed calls among them.
    pub(super) fn over(&self) -> (u64, u64) {
        (self.over, self.failed)
    }

    /// Takes a slot for a call.
    ///
    /// # Errors
    /// [`Overloaded`](crate::rpc::FailureKind::Overloaded) if there is none, and that of the connection once it has ended.
    #[inline]
    pub(super) fn begin(&mut self, streams: Streams, deadline: Option<Instant>) -> Result<CallId, Failure> {
        if let Some(failure) = &self.ended {
            return Err(failure.clone());
        }
        if self.is_leaving {
            return Err(leaving());
        }
        // Calls that are begun and given up while nothing can be sent.
        if self.outgoing.len() > 2 * self.limit {
            return Err(overloaded(self.limit));
        }
        let number = match self.free.pop() {
            Some(number) => number,
            None if self.slots.len() < self.limit => {
                self.slots.push(Slot { generation: 0, deadline: None, state: CallState::Free });
                (self.slots.len() - 1) as u32
            }
            None => return Err(overloaded(self.limit)),
        };
        let slot = &mut self.slots[number as usize];
        slot.deadline = deadline;
        let streaming = |has_one_response, requests| {
            CallState::Streaming(Stream::new(has_one_response, requests, self.answers.of_stream()))
        };
        slot.state = match streams {
            Streams::Neither => CallState::Waiting(None),
            Streams::Responses => streaming(false, None),
            Streams::Requests => streaming(true, Some(Requests::default())),
            Streams::Both => streaming(false, Some(Requests::default())),
        };
        if let Some(deadline) = deadline {
            self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
        }
        Ok(CallId { slot: number, generation: slot.generation })
    }

    /// Returns the message of a call, which tells the server how long the client still waits.
    #[inline]
    pub(super) fn message(
        id: CallId,
        method: Method,
        within: Option<Duration>,
        request: Buf,
        is_traced: bool,
        has_metadata: bool,
    ) -> Message {
        // Up, so that the server does not give up first.
        let milliseconds = within.map_or(0, |within| {
            u32::try_from(within.as_nanos().div_ceil(1_000_000)).unwrap_or(u32::MAX).max(1)
        });
        Message {
            call: id,
            content: Content::Call { method: method.id(), milliseconds, is_traced },
            has_metadata,
            body: Some(request),
        }
    }

    /// Has a message sent with the next burst.
    pub(super) fn enqueue(&mut self, message: Message) {
        self.outgoing.push(message);
    }

    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Returns true once the server has said that it shuts down, until the connection has ended.
    #[inline]
    pub(super) fn is_leaving(&self) -> bool {
        self.is_leaving && self.ended.is_none()
    }

    /// Returns true if the server shuts down and waits for no call of this client.
    pub(super) fn has_left(&self) -> bool {
        self.is_leaving() && self.in_flight() == 0
    }

    /// Returns the failure of calls after the server has shut down.
    pub(super) fn leave(&mut self) {
        self.ended.get_or_insert_with(leaving);
    }

    /// Returns the messages to send, in exchange for an empty list.
    pub(super) fn swap_outgoing(&mut self, with: &mut Vec<Message>) {
        std::mem::swap(&mut self.outgoing, with);
    }

    /// Returns the answer of a call, whose slot is free then; or `waker` is called once there is one.
    #[inline]
    pub(super) fn poll_answer(&mut self, id: CallId, waker: &Waker) -> Poll<Result<Answer, Failure>> {
        let Some(slot) = self.live(id) else { return Poll::Ready(Err(no_such_call())) };
        match &mut slot.state {
            CallState::Waiting(waiting) => {
                wait(waiting, waker);
                Poll::Pending
            }
            _ => Poll::Ready(match self.free(id) {
                CallState::Answered(Ok(answer)) => Ok(answer),
                CallState::Answered(Err(failure)) => {
                    // A refused call is made again.
                    self.failed += u64::from(!failure.is_refusal());
                    Err(failure)
                }
                _ => Err(no_such_call()),
            }),
        }
    }

    /// Returns the next part of a stream of responses. After the end, whose metadata is in `trailers` then, and after a
    /// failure the slot is free.
    pub(super) fn poll_part(
        &mut self,
        id: CallId,
        waker: &Waker,
        trailers: &mut Metadata,
    ) -> Poll<Option<Result<Buf, Failure>>> {
        let Some(Slot { state: CallState::Streaming(stream), .. }) = self.live(id) else {
            return Poll::Ready(self.failure_without_stream(id).map(Err));
        };
        match stream.parts.take() {
            Next::Part(part) => {
                stream.waiting.remove(part.len());
                if let Some(parts) = stream.parts.due_credit(WINDOW).filter(|_| stream.failure.is_none()) {
                    self.outgoing.push(Message::signal(id, Content::Credit { parts }));
                }
                Poll::Ready(Some(Ok(part)))
            }
            Next::Nothing => match stream.failure.take() {
                Some(failure) => {
                    self.free(id);
                    self.failed += 1;
                    Poll::Ready(Some(Err(failure)))
                }
                None => {
                    wait(&mut stream.waker, waker);
                    Poll::Pending
                }
            },
            Next::End => {
                *trailers = std::mem::take(&mut stream.trailers);
                self.free(id);
                Poll::Ready(None)
            }
        }
    }

    /// Returns the failure of a call whose [stream was dropped](Slot::drop_stream). The slot is free then.
    #[cold]
    fn failure_without_stream(&mut self, id: CallId) -> Option<Failure> {
        let CallState::Answered(Err(failure)) = &self.live(id)?.state else { return None };
        let failure = failure.clone();
        self.free(id);
        self.failed += 1;
        Some(failure)
    }

    /// Returns true once a further request of a stream may be sent, and false once no more are to be sent. `waker` is
    /// called at any change, also after true was returned.
    pub(super) fn poll_room_for_request(&mut self, id: CallId, waker: &Waker) -> Poll<bool> {
        let Some(requests) = self.requests(id) else { return Poll::Ready(false) };
        wait(&mut requests.waker, waker);
        if requests.allowance.has_room() { Poll::Ready(true) } else { Poll::Pending }
    }

    /// Returns the message of a request for which there is room; `None` if no more are to be sent.
    pub(super) fn request(&mut self, id: CallId, body: Buf) -> Option<Message> {
        let index = self.requests(id)?.allowance.take();
        Some(Message { call: id, content: Content::Part { index }, has_metadata: false, body: Some(body) })
    }

    /// Returns the message that tells the server the end of the requests, unless no more are to be sent.
    pub(super) fn end_of_requests(&mut self, id: CallId) -> Option<Message> {
        let parts = self.requests(id)?.allowance.sent();
        Some(Message::signal(id, Content::End { parts }))
    }

    /// Records that the end of the requests was sent.
    pub(super) fn finish_requests(&mut self, id: CallId) {
        if let Some(requests) = self.requests(id) {
            requests.are_over = true;
        }
    }

    /// Fails a call whose requests can't go on, unless no more are to be sent, and cancels it at the server.
    #[cold]
    pub(super) fn break_off(&mut self, id: CallId, failure: Failure, woken: &mut Vec<Waker>) {
        if self.requests(id).is_some() {
            self.fail(id, failure, woken);
            self.outgoing.push(Message::signal(id, Content::Cancel));
        }
    }

    /// Returns the requests of a call, unless no more are to be sent.
    fn requests(&mut self, id: CallId) -> Option<&mut Requests> {
        match &mut self.live(id)?.state {
            CallState::Streaming(stream) => stream.requests.as_mut().filter(|requests| !requests.are_over),
            _ => None,
        }
    }

    /// Gives a call up, and its slot. The server is told if it may still be at work.
    pub(super) fn cancel(&mut self, id: CallId) {
        let Some(slot) = self.live(id) else { return };
        let is_at_work = match &slot.state {
            CallState::Waiting(_) => true,
            CallState::Streaming(stream) => stream.failure.is_none(),
            CallState::Free | CallState::Answered(_) => false,
        };
        self.free(id);
        if is_at_work && self.ended.is_none() {
            self.outgoing.push(Message::signal(id, Content::Cancel));
        }
    }

    /// Gives up a call that was never sent.
    pub(super) fn forget(&mut self, id: CallId) {
        if self.live(id).is_some() {
            self.free(id);
        }
    }

    /// Fails a call, and returns true unless it has an outcome already.
    pub(super) fn fail(&mut self, id: CallId, failure: Failure, woken: &mut Vec<Waker>) -> bool {
        self.live(id).is_some_and(|slot| slot.fail(failure, woken))
    }

    /// Fails the calls of a burst that has left in part. The server is told, since a message that has left may have begun
    /// a handler; a cancellation of the burst is sent again.
    #[cold]
    pub(super) fn fail_burst(&mut self, burst: &[CallId], failure: &Failure, woken: &mut Vec<Waker>) {
        for call in burst {
            self.fail(*call, failure.clone(), woken);
            self.outgoing.push(Message::signal(*call, Content::Cancel));
        }
    }

    /// Takes a message of the server in. The task that waits for it is added to `woken`.
    #[inline]
    pub(super) fn on_message(&mut self, mut message: Message, woken: &mut Vec<Waker>) {
        let call = message.call;
        if message.content == Content::Leaving {
            self.is_leaving = true;
            return;
        }
        let Some(slot) = self.live(call) else {
            self.unexpected += 1;
            return;
        };
        let trailers = match message.take_metadata() {
            Ok(trailers) => trailers,
            Err(failure) => {
                self.unexpected += 1;
                self.fail(call, failure.after_running(), woken);
                return;
            }
        };
        let Message { content, body, .. } = message;
        let taken = match (&mut slot.state, content, body) {
            (CallState::Waiting(waker), Content::Response, Some(response)) => {
                woken.extend(waker.take());
                let bytes = response.len();
                slot.state = CallState::Answered(Ok(Answer { response, trailers }));
                self.answers.add_single(bytes);
                Taken::Expected
            }
            (
                CallState::Waiting(_) | CallState::Streaming(_),
                Content::Failure { kind, may_have_run },
                body,
            ) => {
                let failure = reported(kind, may_have_run, body.as_deref()).with_trailers(trailers);
                slot.fail(failure, woken);
                Taken::Expected
            }
            (CallState::Waiting(_) | CallState::Streaming(_), Content::Full { calls }, _) => {
                slot.fail(Failure::refused(calls), woken);
                self.full_at = Some(self.full_at.map_or(calls, |earlier| earlier.min(calls)));
                Taken::Expected
            }
            (CallState::Streaming(stream), Content::Part { index }, Some(body))
                if !stream.has_one_response =>
            {
                woken.extend(stream.waker.take());
                stream.on_part(index, body)
            }
            (CallState::Streaming(stream), Content::End { parts }, _) if !stream.has_one_response => {
                woken.extend(stream.waker.take());
                woken.extend(stream.end_requests());
                stream.trailers = trailers;
                Taken::of(stream.parts.on_end(parts))
            }
            (CallState::Streaming(stream), Content::Response, Some(response)) if stream.has_one_response => {
                woken.extend(stream.waker.take());
                woken.extend(stream.end_requests());
                stream.trailers = trailers;
                stream.on_response(response)
            }
            (CallState::Streaming(stream), Content::Credit { parts }, _) if stream.requests.is_some() => {
                if let Some(requests) = &mut stream.requests {
                    requests.allowance.grant(parts);
                    woken.extend(requests.waker.take());
                }
                Taken::Expected
            }
            // The server takes no further requests.
            (CallState::Streaming(stream), Content::Cancel, _) if stream.requests.is_some() => {
                woken.extend(stream.end_requests());
                Taken::Expected
            }
            (CallState::Answered(_), _, _) => Taken::Late,
            _ => Taken::Wrong,
        };
        match taken {
            Taken::Expected => {}
            Taken::Late => self.unexpected += 1,
            Taken::Wrong => {
                self.unexpected += 1;
                self.refuse(call, malformed(), woken);
            }
            Taken::WithoutRoom(failure) => self.refuse(call, failure, woken),
        }
    }

    /// Fails a call by what its server has sent, unless it has failed before, and drops the responses of its stream.
    #[cold]
    fn refuse(&mut self, id: CallId, failure: Failure, woken: &mut Vec<Waker>) {
        let is_at_work = self.fail(id, failure, woken);
        self.live(id).into_iter().for_each(Slot::drop_stream);
        if is_at_work {
            self.outgoing.push(Message::signal(id, Content::Cancel));
        }
    }

    /// Takes the number of calls at which the server has refused a call since this was asked last.
    #[inline]
    pub(super) fn take_full_at(&mut self) -> Option<usize> {
        self.full_at.take().map(|calls| calls as usize)
    }

    /// When [`expire`](Self::expire) is to be called, at the latest.
    #[inline]
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.earliest
    }

    /// Fails the calls whose deadline has come, and cancels them at the server.
    pub(super) fn expire(&mut self, now: Instant, woken: &mut Vec<Waker>) {
        if self.earliest.is_none_or(|earliest| now < earliest) {
            return;
        }
        self.earliest = None;
        // All slots: this happens about once for as long as callers wait, and not for each call.
        for (number, slot) in self.slots.iter_mut().enumerate() {
            let is_under_way = match &slot.state {
                CallState::Waiting(_) => true,
                CallState::Streaming(stream) => stream.failure.is_none(),
                CallState::Free | CallState::Answered(_) => false,
            };
            match slot.deadline {
                Some(deadline) if is_under_way && deadline <= now => {
                    slot.fail(timed_out(), woken);
                    let id = CallId { slot: number as u32, generation: slot.generation };
                    self.outgoing.push(Message::signal(id, Content::Cancel));
                }
                Some(deadline) if is_under_way => {
                    self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
                }
                _ => {}
            }
        }
    }

    /// Fails all calls, and each that begins from now on.
    pub(super) fn end(&mut self, failure: &Failure, woken: &mut Vec<Waker>) {
        self.ended.get_or_insert_with(|| failure.clone());
        self.outgoing.clear();
        for slot in &mut self.slots {
            slot.fail(failure.clone().after_running(), woken);
        }
    }

    fn live(&mut self, id: CallId) -> Option<&mut Slot> {
        let slot = self.slots.get_mut(id.slot as usize)?;
        (slot.generation == id.generation && !matches!(slot.state, CallState::Free)).then_some(slot)
    }

    /// Frees the slot of a call, and returns what it had.
    fn free(&mut self, id: CallId) -> CallState {
        let slot = &mut self.slots[id.slot as usize];
        let state = std::mem::replace(&mut slot.state, CallState::Free);
        if let CallState::Answered(Ok(answer)) = &state {
            self.answers.remove_single(answer.response.len());
        }
        slot.generation = slot.generation.wrapping_add(1);
        self.free.push(id.slot);
        self.over += 1;
        state
    }
}

impl Slot {
    /// Answers with a failure, unless there is an answer already, and returns true if it does. The tasks that wait are added
    /// to `woken`.
    fn fail(&mut self, failure: Failure, woken: &mut Vec<Waker>) -> bool {
        match &mut self.state {
            CallState::Waiting(waker) => {
                woken.extend(waker.take());
                self.state = CallState::Answered(Err(failure));
                true
            }
            CallState::Streaming(stream) if stream.failure.is_none() => {
                stream.failure = Some(failure);
                woken.extend(stream.waker.take());
                woken.extend(stream.end_requests());
                true
            }
            CallState::Streaming(_) | CallState::Free | CallState::Answered(_) => false,
        }
    }

    /// Drops a stream that has failed, with its responses: further ones are late.
    fn drop_stream(&mut self) {
        if let CallState::Streaming(stream) = &mut self.state
            && let Some(failure) = stream.failure.take()
        {
            self.state = CallState::Answered(Err(failure));
        }
    }
}

#[inline]
fn wait(place: &mut Option<Waker>, waker: &Waker) {
    match place {
        Some(waiting) => waiting.clone_from(waker),
        None => *place = Some(waker.clone()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests;
