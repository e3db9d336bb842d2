//! The way of requests from a caller to a server, and of outcomes back.

use crate::calling::delivery::{self, Given, Place};
use crate::destinations::services::Services;
use crate::failures::details::Details;
use crate::messages::interpreter_view::{Leaving, Sent};
use crate::parties::calls_made::{Call, Calls, Kept, NotBegun};
use crate::parties::link::{Caller, Link, Open};
use crate::state::State;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Burst, Contents, Copied, Descriptor, InHeap, Kind, Message, Refusal, Spare};
use bertha_schemas::{Fault, Fields, Limits, Partly};
use std::sync::Arc;
use std::time::Duration;

/// Time after which an application lets others come first.
pub(crate) const LONG: Duration = Duration::from_millis(1);

/// A breach of the protocol. The application that committed it is detached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Breach(pub(crate) &'static str);

/// The outcome of a call, as a server gives it.
#[derive(Debug)]
pub(crate) enum Outcome<'a> {
    /// A response, which lies in the send heap of this server.
    Response(&'a Arc<Link>, InHeap),
    /// The call failed.
    Failure { refusal: Refusal, details: Details, may_have_run: bool },
}

/// A response for a caller.
#[derive(Debug, Clone, Copy)]
struct Response<'a> {
    copy: InHeap,
    /// The server that has sent it, with its number of the message.
    of: Option<(&'a Arc<Link>, u32)>,
}

/// The response of a call that fails.
const NONE: Response<'_> = Response { copy: InHeap { at: 0, bytes: 0, number: 0 }, of: None };

/// Takes up to 64 descriptors of a caller. What passes the engines is [carried on](carry_on) before the next ones are taken.
pub(crate) fn take(link: &Arc<Link>, descriptors: &[Descriptor], now: Duration) -> Result<(), Breach> {
    let mut caller = link.caller.lock();
    for descriptor in descriptors {
        match *descriptor {
            Descriptor::Request { call, method, message, milliseconds, trace } => {
                let request = Message { trace, ..message_of(call, method, Kind::Request, message) };
                begin(link, &mut caller, request, (message.number, milliseconds))?;
            }
            Descriptor::Cancellation { call } => {
                let Caller { open, requests, .. } = &mut *caller;
                // The call may have had its outcome meanwhile.
                if let Some(begun) = open.calls.get(call) {
                    let peer = peer_of(begun);
                    let about = message_of(call, 0, Kind::Cancellation, InHeap::default());
                    put(requests, Message { peer, ..about });
                }
            }
            Descriptor::Done(done) => link.take_back(done.numbers()),
            _ => return Err(Breach("a caller answers")),
        }
    }
    work(link, &mut caller, now);
    Ok(())
}

/// Carries on what has passed the engines, for a time. Returns false if there is more: a request may take milliseconds to copy, and other
/// applications come in between.
pub(crate) fn carry_on(link: &Arc<Link>, state: &State) -> bool {
    let begun = state.now();
    let Caller { open, passed, .. } = &mut *link.caller.lock();
    while let Some(message) = passed.pop_front() {
        match message.kind {
            Kind::Request => give(link, open, message, begun, &state.services),
            _ => cancel(link, open, message.call),
        }
        if state.now() - begun > LONG {
            break;
        }
    }
    passed.is_empty()
}

/// Leads requests through the engines, and does what is due without a message.
fn work(link: &Arc<Link>, caller: &mut Caller, now: Duration) {
    let Caller { open, requests, passed } = caller;
    let Open { chain, calls, spare, copies, .. } = open;
    let room = link.heap.saturating_sub(calls.copied());
    chain.requests(requests, &mut Copies { link, calls, room, spare, made: copies }, now);
    copies.drain(..).for_each(|(call, bytes)| calls.set_copied(call, bytes));
    for mut message in chain.take_outcomes() {
        spare.keep(message.content.take());
        tell(link, (calls, spare), message, NONE, false);
    }
    for request in requests.take_ended().filter(|message| message.kind == Kind::Request) {
        spare.keep(request.content);
        end(link, (calls, spare), request.call);
    }
    passed.extend(requests.drain());
}

/// Ends a call with an outcome that a server gives. Returns true if the response is needed in the server's memory until it has been sent.
pub(crate) fn on_outcome(link: &Arc<Link>, call: u64, outcome: Outcome<'_>, now: Duration) -> bool {
    let open = &mut link.caller.lock().open;
    let Some(begun) = open.calls.get(call) else { return false };
    let (method, peer) = (begun.method, peer_of(begun));
    let (kind, response, may_have_run) = match outcome {
        Outcome::Response(server, message) => match copy_response(link, server, method, message) {
            Ok(copy) => (Kind::Response, Response { copy, of: Some((server, message.number)) }, true),
            Err(fault) => (Kind::Failure(Refusal::of_fault(&fault, "response")), NONE, true),
        },
        Outcome::Failure { refusal, details, may_have_run } => {
            begun.stated = Some((Arc::clone(&refusal.reason), details));
            (Kind::Failure(refusal), NONE, may_have_run)
        }
    };
    let outcome = Message { peer, ..message_of(call, method, kind, response.copy) };
    answer(link, open, outcome, response, may_have_run, now)
}

/// Ends all calls of a caller that has gone.
pub(crate) fn end_all(link: &Link) {
    let ended: Vec<_> = link.caller.lock().open.calls.end_all().collect();
    for (_, call) in ended {
        if let Some((server, number)) = call.server {
            delivery::cancel(&server, number);
        }
    }
}

/// Begins the call of a request, which has a number among the messages of the caller, and so many milliseconds left.
fn begin(
    link: &Link,
    caller: &mut Caller,
    request: Message,
    (number, milliseconds): (u32, u32),
) -> Result<(), Breach> {
    let Message { call, method, .. } = request;
    let refuse = |kind, reason: &str| {
        link.done(number);
        link.tell_failure(call, &Refusal { kind, reason: reason.into() }, &Details::OfDaemon, false);
    };
    if link.typed.method(method).is_none() {
        refuse(FailureKind::UnknownMethod, "the schema has no such method");
        return Ok(());
    }
    if link.sends.are_too_many() {
        refuse(FailureKind::Overloaded, "requests that wait take too much memory");
        return Ok(());
    }
    match caller.open.calls.begin(call, method, number, milliseconds) {
        Ok(()) => {
            put(&mut caller.requests, request);
            Ok(())
        }
        Err(NotBegun::TooMany) => {
            refuse(FailureKind::Overloaded, "the application has too many open calls");
            Ok(())
        }
        Err(NotBegun::Twice) => Err(Breach("two open calls have one number")),
    }
}

pub(crate) fn message_of(call: u64, method: u32, kind: Kind, message: InHeap) -> Message {
    let (InHeap { at, bytes, .. }, copied) = (message, Copied::Whole);
    Message { kind, call, method, bytes, at, trace: None, peer: None, content: None, copied }
}

/// Adds a message to a burst, which has room: it was empty before as many descriptors as it takes.
fn put(burst: &mut Burst, message: Message) {
    let added = burst.push(message);
    debug_assert!(added.is_ok(), "a burst is full");
}

/// Returns the party that has the request of a call, as operators see it.
fn peer_of(call: &Call<Arc<Link>>) -> Option<Arc<str>> {
    call.server.as_ref().map(|(server, _)| Arc::clone(&server.application))
}

/// Gives a request that has passed all engines to the server.
fn give(link: &Arc<Link>, open: &mut Open, mut request: Message, now: Duration, services: &Services) {
    let Some(call) = open.calls.get(request.call) else { return };
    let sent = delivery::Sent { number: call.message, milliseconds: call.milliseconds, place: Place::New };
    match delivery::deliver(services, link, &request, sent, now) {
        Ok(Given { server, number, is_kept: true, .. }) => {
            let Message { at, bytes, trace, content, copied, .. } = request;
            call.server = Some((server, number));
            call.kept = Some(Kept { at, bytes, trace, content, copied });
        }
        Ok(Given { server, number, is_held, .. }) => {
            call.server = Some((server, number));
            if !is_held {
                link.done(call.message);
            }
            open.calls.set_copied(request.call, 0);
            open.spare.keep(request.content);
        }
        Err(refusal) => {
            open.spare.keep(request.content.take());
            let failure = Message { kind: Kind::Failure(refusal), ..request };
            answer(link, open, failure, NONE, false, now);
        }
    }
}

/// Leads an outcome through the engines, and tells the caller of it. Returns true if the response is still needed in the server's memory.
fn answer(
    link: &Link,
    open: &mut Open,
    outcome: Message,
    response: Response<'_>,
    may_have_run: bool,
    now: Duration,
) -> bool {
    let Open { chain, calls, outcomes, spare, .. } = open;
    put(outcomes, outcome);
    chain.responses(outcomes, now);
    let mut is_held = false;
    for outcome in outcomes.drain() {
        is_held |= tell(link, (calls, spare), outcome, response, may_have_run);
    }
    is_held
}

/// Tells the caller of the outcome of a call. Returns true if the response is still needed in the server's memory.
fn tell(
    link: &Link,
    (calls, spare): (&mut Calls<Arc<Link>>, &mut Spare),
    outcome: Message,
    response: Response<'_>,
    may_have_run: bool,
) -> bool {
    let stated = end(link, (calls, spare), outcome.call);
    let Response { copy, of } = response;
    match (outcome.kind, of) {
        (Kind::Failure(refusal), _) => {
            if copy.at != 0 {
                link.take_back(&[copy.number]);
            }
            let is_it = |(reason, _): &(Arc<str>, Details)| Arc::ptr_eq(reason, &refusal.reason);
            let details = stated.filter(is_it).map(|(_, details)| details).unwrap_or_default();
            link.tell_failure(outcome.call, &refusal, &details, may_have_run);
            false
        }
        (_, Some(of)) => link.tell_from(Descriptor::Response { call: outcome.call, message: copy }, of),
        (_, None) => {
            link.tell(Descriptor::Response { call: outcome.call, message: copy });
            false
        }
    }
}

/// Ends a call. A request that no server has got, or that was kept, is needed no more. Returns the failure that the server has stated.
fn end(
    link: &Link,
    (calls, spare): (&mut Calls<Arc<Link>>, &mut Spare),
    call: u64,
) -> Option<(Arc<str>, Details)> {
    let ended = calls.end(call)?;
    if ended.server.is_none() || ended.kept.is_some() {
        link.done(ended.message);
    }
    spare.keep(ended.kept.and_then(|kept| kept.content));
    ended.stated
}

/// Takes a call away from its server, whose outcome nobody wants.
fn cancel(link: &Link, Open { calls, spare, .. }: &mut Open, call: u64) {
    let server = calls.get(call).and_then(|open| open.server.clone());
    end(link, (calls, spare), call);
    if let Some((server, number)) = server {
        delivery::cancel(&server, number);
    }
}

fn copy_response(link: &Link, server: &Link, method: u32, message: InHeap) -> Result<InHeap, Fault> {
    let Some(messages) = server.typed.method(method) else { return Err(Fault::Malformed) };
    let plan = &server.typed.plan;
    server.sends.read(message.number, |sent| {
        link.lend(message.bytes, |room| {
            let mut room = Leaving { room, heap: sent.heap() };
            plan.copy(messages.response, sent, message.at, &mut room, Limits::default())
        })
    })
}

/// The requests of an application, for engines that read them.
struct Copies<'a> {
    link: &'a Link,
    calls: &'a Calls<Arc<Link>>,
    /// Number of bytes that copies may still take. An application has no more in copies than in a heap, however often its requests name a
    /// part of it.
    room: usize,
    spare: &'a mut Spare,
    /// The copies, by their calls, with their bytes.
    made: &'a mut Vec<(u64, usize)>,
}

impl Contents for Copies<'_> {
    fn copy(&mut self, request: &mut Message, fields: Option<&Fields>) -> Result<(), Fault> {
        let typed = &self.link.typed;
        let Some(messages) = typed.method(request.method) else { return Err(Fault::Malformed) };
        let limits = Limits::default();
        let number = self.calls.message(request.call).ok_or(Fault::Malformed)?;
        let mut memory = self.spare.take(limits.memory.min(self.room));
        let at = self.link.sends.read(number, |sent| match (fields, sent, &request.content) {
            (Some(fields), Sent::Heap(_), _) => {
                typed.plan.copy_fields(messages.request, fields, sent, request.at, &mut *memory, limits)
            }
            // What an engine has read before is read no second time.
            (_, _, Some(content)) => {
                let sent = Partly::new(content, sent);
                typed.plan.copy(messages.request, &sent, request.at, &mut *memory, limits)
            }
            // A frame changes no more, and lies where a copy would.
            _ => {
                request.copied = Copied::Whole;
                typed.plan.copy(messages.request, sent, request.at, &mut *memory, limits)
            }
        })?;
        self.room = self.room.saturating_sub(memory.used());
        self.made.push((request.call, memory.used()));
        (request.content, request.at) = (Some(memory), at);
        Ok(())
    }

    fn measure(&mut self, request: &Message, most: u32) -> u32 {
        let typed = &self.link.typed;
        let (Some(messages), Some(number)) = (typed.method(request.method), self.calls.message(request.call))
        else {
            return request.bytes;
        };
        let (plan, most) = (&typed.plan, most.into());
        let bytes = self.link.sends.read(number, |sent| match &request.content {
            Some(content) => plan.measure(messages.request, &Partly::new(content, sent), request.at, most),
            None => plan.measure(messages.request, sent, request.at, most),
        });
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }
}
