//! Calls that wait for a peer which does not take them, and go to another.

use crate::caller::{self, Outcome};
use crate::delivery;
use crate::details::Details;
use crate::link::Link;
use crate::state::State;
use bertha_managed::{Descriptor, Kind, Message, Refusal};
use std::sync::Arc;

/// Notes that a peer takes calls. Those that wait for others of its route, which are still being connected, wait no longer.
pub(crate) fn open(link: &Arc<Link>, state: &State) {
    for other in state.services.opened(link, state.now()) {
        each(&other, |descriptor| match descriptor {
            Descriptor::Request { .. } => pass_on(&other, &descriptor, None, state),
            // Another thread may have sent the call at this moment.
            _ => other.tell(descriptor),
        });
    }
}

/// Leads the calls that a peer has not heard of to others, each once, and fails those that have no other. They did not run.
pub(crate) fn pass_all_on(link: &Arc<Link>, refusal: &Refusal, state: &State) {
    each(link, |descriptor| pass_on(link, &descriptor, Some(refusal), state));
}

/// Leads a call that a peer has not heard of to another. If there is a refusal, a call fails with it that has gone to another peer before, or
/// has no other now.
pub(crate) fn pass_on(link: &Arc<Link>, descriptor: &Descriptor, refusal: Option<&Refusal>, state: &State) {
    let Descriptor::Request { call: number, method, message, milliseconds, trace } = *descriptor else {
        return;
    };
    let content = link.waiting(descriptor).map(Box::new);
    // A call that was cancelled, as it is at its deadline, goes nowhere.
    let Some((caller, call)) = link.take_given(number) else { return };
    let request =
        Message { kind: Kind::Request, call, method, bytes: message.bytes, at: message.at, trace, content };
    let given = give(&caller, &request, milliseconds, refusal, state);
    if let Err(refusal) = given {
        let outcome = Outcome::Failure { refusal, details: Details::OfDaemon, may_have_run: false };
        caller::on_outcome(&caller, call, outcome, state.now());
    }
}

/// Gives a request to another peer.
fn give(
    caller: &Arc<Link>,
    request: &Message,
    milliseconds: u32,
    refusal: Option<&Refusal>,
    state: &State,
) -> Result<(), Refusal> {
    let calls = &mut caller.caller.lock().open.calls;
    let Some(open) = calls.get(request.call) else { return Ok(()) };
    if let Some(refusal) = refusal
        && (open.is_second || !state.services.has_any(caller, state.now()))
    {
        return Err(refusal.clone());
    }
    // The request is in the memory of the daemon, and no message of the caller any more.
    let given = delivery::deliver(&state.services, caller, request, (0, milliseconds), state.now())?;
    open.server = Some((given.server, given.number));
    open.is_second = true;
    Ok(())
}

/// Takes what waits for a party that is no application.
fn each(link: &Link, mut take: impl FnMut(Descriptor)) {
    if link.has_frames() {
        let mut waiting = Vec::new();
        link.news(&mut waiting);
        waiting.drain(..).for_each(&mut take);
    }
}
