//! The way of requests to a server.

use crate::destinations::services::Services;
use crate::messages::interpreter_view::Leaving;
use crate::parties::calls_given::NotGiven;
use crate::parties::link::Link;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Descriptor, InHeap, Message, Refusal};
use bertha_schemas::{Fault, Limits, Partly};
use std::sync::Arc;
use std::time::Duration;

/// Number of servers to which a call is led that have gone before they got it.
const GONE: usize = 4;

/// Number of bytes of the largest request of a stranger or of another daemon that is kept for a second server. Applications have their heaps.
const KEPT: u32 = 64 << 10;

/// A call that a server has been given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) server: Arc<Link>,
    /// The server's number of the call.
    pub(crate) number: u64,
    /// The request is needed in the caller's memory until it has been sent.
    pub(crate) is_held: bool,
    /// The request is needed in the caller's memory until the call ends, for another server if this one does not run it.
    pub(crate) is_kept: bool,
}

/// The knowledge of a request that is given.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// The number among the messages of the caller.
    pub(crate) number: u32,
    /// Number of milliseconds that are left; zero is no limit.
    pub(crate) milliseconds: u32,
    pub(crate) place: Place,
}

/// The place of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// The request has just come from its caller, whose memory it is in.
    New,
    /// The request is kept in the memory of its caller.
    Kept,
    /// The request is in the memory of the daemon, and no message of the caller any more.
    Copy,
}

/// Gives a request to the server of its caller's service. Where another thread ends a server that was found, the next is found.
pub(crate) fn deliver(
    services: &Services,
    caller: &Arc<Link>,
    request: &Message,
    sent: Sent,
    now: Duration,
) -> Result<Given, Refusal> {
    let mut left = GONE;
    loop {
        let (server, is_one_of_several) = services.server_of(caller, now)?;
        let is_kept = match sent.place {
            Place::New => is_one_of_several && (caller.has_heap() || request.bytes <= KEPT),
            Place::Kept => true,
            Place::Copy => false,
        };
        match give(&server, caller, request, sent, is_kept) {
            Ok((number, is_held)) => return Ok(Given { server, number, is_held, is_kept }),
            Err(_) if left > 0 && server.given.lock().has_ended() => left -= 1,
            Err(refusal) => return Err(refusal),
        }
    }
}

/// Gives a request to a server, and returns the server's number of the call, with true if the caller's memory is needed until the request has
/// been sent. A request that is kept is needed until its call ends.
fn give(
    link: &Link,
    caller: &Arc<Link>,
    request: &Message,
    Sent { number, milliseconds, .. }: Sent,
    is_kept: bool,
) -> Result<(u64, bool), Refusal> {
    let message =
        copy_request(link, caller, request, number).map_err(|fault| Refusal::of_fault(&fault, "request"))?;
    let bytes = if link.has_heap() { message.bytes as usize } else { 0 };
    // The order matters: the server hears of a call that it has been given.
    let given = link.given.lock().give(Arc::clone(caller), request.call, caller.origin(), bytes);
    let call = given.map_err(|not_given| {
        link.take_back(&[message.number]);
        refusal(not_given)
    })?;
    let Message { method, trace, .. } = *request;
    let descriptor = Descriptor::Request { call, method, message, milliseconds, trace };
    if is_kept {
        // Another thread may have sent the request before this one goes on.
        caller.keep_sent(number);
    }
    let is_held = link.tell_from(descriptor, (caller, number));
    if is_kept && !is_held && caller.has_heap() {
        caller.done(number);
    }
    Ok((call, is_held))
}

#[cold]
fn refusal(not_given: NotGiven) -> Refusal {
    let (kind, reason) = match not_given {
        NotGiven::Gone => (FailureKind::Unavailable, "the server has gone"),
        NotGiven::Calls => {
            (FailureKind::Unavailable, "the server has too many calls, or too many of the caller")
        }
        NotGiven::Memory => {
            (FailureKind::Overloaded, "the caller's requests take too much memory of the server")
        }
    };
    Refusal { kind, reason: reason.into() }
}

/// Takes a call away from a server, whose outcome nobody wants. The server does not hear of a call of which it has not heard yet.
pub(crate) fn cancel(link: &Link, call: u64) {
    if link.take_given(call).is_some() {
        link.cancel(call);
    }
}

/// Copies a request for the server: what engines have read as they have read it, and the rest as the caller has sent it.
fn copy_request(link: &Link, caller: &Link, request: &Message, number: u32) -> Result<InHeap, Fault> {
    let Some(messages) = link.typed.method(request.method) else { return Err(Fault::Malformed) };
    let (plan, limits) = (&link.typed.plan, Limits::default());
    let (message, at) = (messages.request, request.at);
    caller.sends.read(number, |sent| {
        link.lend(request.bytes, |room| {
            let mut room = Leaving { room, heap: sent.heap() };
            match &request.content {
                Some(content) => plan.copy(message, &Partly::new(content, sent), at, &mut room, limits),
                None => plan.copy(message, sent, at, &mut room, limits),
            }
        })
    })
}
