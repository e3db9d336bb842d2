//! The way of requests to a server.

use crate::given::NotGiven;
use crate::link::Link;
use crate::memory::Leaving;
use crate::services::Services;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Descriptor, InHeap, Message, Refusal};
use bertha_schemas::{Fault, Limits};
use std::sync::Arc;
use std::time::Duration;

/// Number of servers to which a call is led that have gone before they got it.
const GONE: usize = 4;

/// A call that a server has been given.
#[derive(Debug)]
pub(crate) struct Given {
    pub(crate) server: Arc<Link>,
    /// The server's number of the call.
    pub(crate) number: u64,
    /// The request is needed in the caller's memory until it has been sent.
    pub(crate) is_held: bool,
}

/// Gives a request to the server of its caller's service. Where another thread ends a server that was found, the next is found.
pub(crate) fn deliver(
    services: &Services,
    caller: &Arc<Link>,
    request: &Message,
    sent: (u32, u32),
    now: Duration,
) -> Result<Given, Refusal> {
    let mut left = GONE;
    loop {
        let server = services.server_of(caller, now)?;
        match give(&server, caller, request, sent) {
            Ok((number, is_held)) => return Ok(Given { server, number, is_held }),
            Err(_) if left > 0 && server.given.lock().has_ended() => left -= 1,
            Err(refusal) => return Err(refusal),
        }
    }
}

/// Gives a request to a server, and returns the server's number of the call, with true if the caller's memory is still needed. The request has a
/// number among the messages of the caller, and so many milliseconds are left.
fn give(
    link: &Link,
    caller: &Arc<Link>,
    request: &Message,
    (number, milliseconds): (u32, u32),
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
    Ok((call, link.tell_from(descriptor, (caller, number))))
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

/// Takes a call away from a server, whose outcome nobody wants.
pub(crate) fn cancel(link: &Link, call: u64) {
    if link.take_given(call).is_some() {
        link.tell(Descriptor::Cancellation { call });
    }
}

/// Copies a request for the server: what engines have read, or else what the caller has sent.
fn copy_request(link: &Link, caller: &Link, request: &Message, number: u32) -> Result<InHeap, Fault> {
    let Some(messages) = link.typed.method(request.method) else { return Err(Fault::Malformed) };
    let (plan, limits) = (&link.typed.plan, Limits::default());
    match &request.content {
        Some(content) => {
            link.lend(request.bytes, |room| plan.copy(messages.request, &**content, request.at, room, limits))
        }
        None => caller.sends.read(number, |sent| {
            link.lend(request.bytes, |room| {
                plan.copy(
                    messages.request,
                    sent,
                    request.at,
                    &mut Leaving { room, heap: sent.heap() },
                    limits,
                )
            })
        }),
    }
}
