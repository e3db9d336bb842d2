//! The calls under way at a server, and the futures that answer them.

use super::Reply;
use super::panics::caught;
use super::served_calls::{OpenStream, ServedCalls};
use super::woken::{SlotWaker, Woken};
use crate::rpc::Failure;
use crate::rpc::message::CallId;
use crate::rpc::parts::{Allowance, WINDOW};
use futures_util::stream::BoxStream;
use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

/// How many cancellations are remembered whose calls are not there: a cancellation may overtake its call.
const EARLY_CANCELLATIONS: usize = 64;

/// Futures of type `F` that answer calls by responses of type `R`, each in a slot. The memory of a slot is used again.
pub(super) struct Handlers<'a, F, R> {
    slots: Vec<Slot<'a, F, R>>,
    free: Vec<usize>,
    /// The calls whose futures wait. One that is answered at once never comes here.
    waiting: HashMap<CallId, usize>,
    limit: usize,
    /// No deadline of a waiting call is earlier.
    earliest: Option<Instant>,
    early: VecDeque<CallId>,
    woken: Arc<Woken>,
    calls: ServedCalls,
}

struct Slot<'a, F, R> {
    call: Option<CallId>,
    method: u32,
    deadline: Option<Instant>,
    answering: Pin<Box<Option<F>>>,
    streaming: Option<Streaming<'a, R>>,
    waker: Waker,
    /// True while the slot stands among those that wait for their turn.
    is_queued: bool,
}

struct Streaming<'a, R> {
    responses: BoxStream<'a, Result<R, Failure>>,
    parts: Allowance,
    _open: OpenStream,
}

/// The progress that the future of a call of `method` has made.
pub(super) struct Made<R> {
    pub(super) call: CallId,
    pub(super) method: u32,
    pub(super) progress: Progress<R>,
}

/// The state of a future.
pub(super) enum Progress<R> {
    Response(R),
    Part { index: u32, response: R },
    End { parts: u32 },
    Failure(Failure),
}

impl<'a, F, R> Handlers<'a, F, R>
where
    F: Future<Output = Result<Reply<'a, R>, Failure>>,
{
    pub(super) fn new(limit: usize, calls: ServedCalls) -> Self {
        let (slots, free, waiting, early, woken) = Default::default();
        Self { slots, free, waiting, limit: limit.max(1), earliest: None, early, woken, calls }
    }

    pub(super) fn is_full(&self) -> bool {
        self.free.is_empty() && self.slots.len() >= self.limit
    }

    /// Returns the number of calls that have no answer yet.
    pub(super) fn len(&self) -> usize {
        self.slots.len() - self.free.len()
    }

    /// Returns true if the call was cancelled before it arrived, or is under way already.
    pub(super) fn is_void(&mut self, call: CallId) -> bool {
        if !self.early.is_empty()
            && let Some(at) = self.early.iter().position(|early| *early == call)
        {
            self.early.remove(at);
            return true;
        }
        !self.waiting.is_empty() && self.waiting.contains_key(&call)
    }

    /// Takes in the future that answers a call, unless it is [full](Self::is_full), and returns its slot.
    pub(super) fn start(
        &mut self,
        call: CallId,
        method: u32,
        deadline: Option<Instant>,
        answering: F,
    ) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            let waker = SlotWaker::waker(self.slots.len(), self.woken.clone());
            let answering = Box::pin(None);
            let streaming = None;
            let (call, deadline, is_queued) = Default::default();
            self.slots.push(Slot { call, method, deadline, answering, streaming, waker, is_queued });
            self.slots.len() - 1
        });
        let slot = &mut self.slots[number];
        slot.call = Some(call);
        slot.method = method;
        slot.deadline = deadline;
        slot.answering.set(Some(answering));
        self.calls.begun();
        number
    }

    /// Adds the slot of a call to those that wait for their turn, where cancellations and its deadline find the call.
    pub(super) fn queue(&mut self, number: usize, ready: &mut VecDeque<usize>) {
        self.queue_again(number, ready);
        if let Some(call) = self.slots.get(number).and_then(|slot| slot.call) {
            self.wait(number, call);
        }
    }

    /// Adds the slot of a call that has waited before. A slot stands there once, also if its call has been cancelled and
    /// another one has the slot.
    pub(super) fn queue_again(&mut self, number: usize, ready: &mut VecDeque<usize>) {
        if let Some(slot) = self.slots.get_mut(number)
            && !std::mem::replace(&mut slot.is_queued, true)
        {
            ready.push_back(number);
        }
    }

    /// Takes the next slot of those that wait for their turn.
    pub(super) fn next(&mut self, ready: &mut VecDeque<usize>) -> Option<usize> {
        let number = ready.pop_front()?;
        if let Some(slot) = self.slots.get_mut(number) {
            slot.is_queued = false;
        }
        Some(number)
    }

    /// Polls the future of a slot once. Ready with `None` if it is over, or has to wait for the client. A future that panics fails its call.
    pub(super) fn poll(&mut self, number: usize) -> Poll<Option<Made<R>>> {
        let Some(slot) = self.slots.get_mut(number) else { return Poll::Ready(None) };
        let Some(call) = slot.call else { return Poll::Ready(None) };
        let method = slot.method;
        let made = |progress| Poll::Ready(Some(Made { call, method, progress }));
        let mut cx = Context::from_waker(&slot.waker);
        if slot.streaming.is_none() {
            let Some(answering) = slot.answering.as_mut().as_pin_mut() else { return Poll::Ready(None) };
            let reply = match caught(method, || answering.poll(&mut cx)) {
                Ok(Poll::Ready(reply)) => reply,
                Ok(Poll::Pending) => {
                    self.wait(number, call);
                    return Poll::Pending;
                }
                Err(panicked) => Err(panicked),
            };
            let progress = match reply {
                Ok(Reply::One(response)) => Progress::Response(response),
                Err(failure) => Progress::Failure(failure),
                Ok(Reply::Several(responses)) => {
                    let _ = caught(method, || slot.answering.set(None));
                    let parts = Allowance::new(WINDOW);
                    slot.streaming = Some(Streaming { responses, parts, _open: self.calls.stream() });
                    self.wait(number, call);
                    return self.poll(number);
                }
            };
            self.free(number);
            return made(progress);
        }
        let Some(streaming) = &mut slot.streaming else { return Poll::Ready(None) };
        if !streaming.parts.has_room() {
            return Poll::Ready(None);
        }
        let progress = match caught(method, || streaming.responses.as_mut().poll_next(&mut cx)) {
            Ok(Poll::Pending) => return Poll::Pending,
            Ok(Poll::Ready(Some(Ok(response)))) => {
                let index = streaming.parts.take();
                return made(Progress::Part { index, response });
            }
            // Its handler has begun, whatever the failure says.
            Ok(Poll::Ready(Some(Err(failure)))) | Err(failure) => Progress::Failure(failure.after_running()),
            Ok(Poll::Ready(None)) => Progress::End { parts: streaming.parts.sent() },
        };
        self.free(number);
        made(progress)
    }

    /// Drops the future in a slot, whose call has failed.
    #[cold]
    pub(super) fn end(&mut self, number: usize) {
        self.free(number);
    }

    /// Drops the future of a call whose answer was not sent, if the future is still there.
    #[cold]
    pub(super) fn fail(&mut self, call: CallId, failure: &Failure) {
        if let Some(number) = self.waiting.get(&call).copied() {
            self.calls.failed(failure);
            self.free(number);
        }
    }

    /// Drops the future of a call, since the client no longer waits.
    pub(super) fn cancel(&mut self, call: CallId) {
        if let Some(number) = self.waiting.get(&call).copied() {
            self.calls.cancelled();
            self.free(number);
            return;
        }
        if self.early.len() == EARLY_CANCELLATIONS {
            self.early.pop_front();
        }
        self.early.push_back(call);
    }

    /// Records that the client takes parts up to this number. Returns the slot if it can go on now.
    pub(super) fn credit(&mut self, call: CallId, parts: u32) -> Option<usize> {
        let number = *self.waiting.get(&call)?;
        let streaming = self.slots[number].streaming.as_mut()?;
        let was_out = !streaming.parts.has_room();
        streaming.parts.grant(parts);
        (was_out && streaming.parts.has_room()).then_some(number)
    }

    /// When [`expire`](Self::expire) is to be called, at the latest.
    pub(super) fn earliest(&self) -> Option<Instant> {
        self.earliest
    }

    /// Drops the futures of the calls whose deadline has come, and returns the calls.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<CallId> {
        self.earliest = None;
        let mut expired = Vec::new();
        for number in 0..self.slots.len() {
            let Slot { call: Some(call), deadline: Some(deadline), .. } = self.slots[number] else {
                continue;
            };
            if deadline <= now {
                self.free(number);
                expired.push(call);
            } else {
                self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
            }
        }
        expired
    }

    /// Drops all futures, and returns their calls. No slot waits for its turn any longer.
    pub(super) fn end_all(&mut self) -> Vec<CallId> {
        let under_way: Vec<_> = self.slots.iter().filter_map(|slot| slot.call).collect();
        (0..self.slots.len()).for_each(|number| self.free(number));
        self.slots.iter_mut().for_each(|slot| slot.is_queued = false);
        self.earliest = None;
        under_way
    }

    /// Moves the numbers of the slots whose futures can go on to `into`; or `cx` is woken once there are some.
    pub(super) fn poll_woken(&mut self, cx: &Context<'_>, into: &mut impl Extend<usize>) -> Poll<()> {
        if self.len() == 0 {
            return Poll::Pending;
        }
        self.woken.poll(cx, into)
    }

    /// Moves those that are there to `into`.
    pub(super) fn take_woken(&mut self, into: &mut impl Extend<usize>) {
        if self.len() > 0 {
            self.woken.take(into);
        }
    }

    fn wait(&mut self, number: usize, call: CallId) {
        self.waiting.insert(call, number);
        if let Some(deadline) = self.slots[number].deadline {
            self.earliest = Some(self.earliest.map_or(deadline, |earliest| earliest.min(deadline)));
        }
    }

    fn free(&mut self, number: usize) {
        let slot = &mut self.slots[number];
        // A panic of what is dropped is logged; the slot is empty nevertheless.
        let _ = caught(slot.method, || slot.answering.set(None));
        let streaming = slot.streaming.take();
        let _ = caught(slot.method, || drop(streaming));
        if let Some(call) = slot.call.take() {
            if !self.waiting.is_empty() {
                self.waiting.remove(&call);
            }
            self.free.push(number);
        }
    }
}

/// The calls that have no outcome when the connection ends are counted.
impl<F, R> Drop for Handlers<'_, F, R> {
    fn drop(&mut self) {
        self.calls.abandoned(self.slots.len() - self.free.len());
    }
}
