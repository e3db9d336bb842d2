//! Calls that wait for a peer which does not take them, and go to another.

use crate::calling::caller::{self, Outcome, message_of};
use crate::calling::delivery::{self, Place, Sent};
use crate::destinations::route_list::Routes;
use crate::failures::details::Details;
use crate::parties::calls_made::{Call, Kept};
use crate::parties::link::Link;
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

/// Leads the calls that a peer has not heard of to others, and fails those that have no other. They did not run.
pub(crate) fn pass_all_on(link: &Arc<Link>, refusal: &Refusal, state: &State) {
    each(link, |descriptor| pass_on(link, &descriptor, Some(refusal), state));
}

/// Leads a call that a peer has not heard of to another. If there is a refusal, a call fails with it that has no other peer now.
pub(crate) fn pass_on(link: &Arc<Link>, descriptor: &Descriptor, refusal: Option<&Refusal>, state: &State) {
    let Descriptor::Request { call: number, method, message, milliseconds, trace } = *descriptor else {
        return;
    };
    let content = link.waiting(descriptor).map(Box::new);
    // A call that was cancelled, as it is at its deadline, goes nowhere.
    let Some((caller, call)) = link.take_given(number) else { return };
    let request = Message { trace, content, ..message_of(call, method, Kind::Request, message) };
    // The request is in the memory of the daemon, and no message of the caller any more.
    let sent = Sent { number: 0, milliseconds, place: Place::Copy };
    let given = match caller.caller.lock().open.calls.get(call) {
        Some(open) => give(open, &caller, &request, sent, refusal, state),
        None => return,
    };
    if let Err(refusal) = given {
        let outcome = Outcome::Failure { refusal, details: Details::OfDaemon, may_have_run: false };
        caller::on_outcome(&caller, call, outcome, state.now());
    }
}

/// Leads a call that a peer has taken and did not run to another. Returns false if the request is not there any more, or there is no other.
pub(crate) fn try_other(caller: &Arc<Link>, call: u64, refusal: &Refusal, state: &State) -> bool {
    let calls = &mut caller.caller.lock().open.calls;
    // A call that was cancelled goes nowhere.
    let Some(open) = calls.get(call) else { return true };
    let Some(Kept { at, bytes, trace, content, copied }) = open.kept.take() else { return false };
    let method = open.method;
    let request =
        Message { kind: Kind::Request, call, method, bytes, at, trace, peer: None, content, copied };
    let sent = Sent { number: open.message, milliseconds: open.milliseconds, place: Place::Kept };
    let given = give(open, caller, &request, sent, Some(refusal), state);
    let Message { at, bytes, trace, content, copied, .. } = request;
    open.kept = Some(Kept { at, bytes, trace, content, copied });
    given.is_ok()
}

/// Gives a request to another peer.
fn give(
    open: &mut Call<Arc<Link>>,
    caller: &Arc<Link>,
    request: &Message,
    sent: Sent,
    refusal: Option<&Refusal>,
    state: &State,
) -> Result<(), Refusal> {
    if let Some(refusal) = refusal
        && (usize::from(open.tried) >= Routes::MOST || !state.services.has_any(caller, state.now()))
    {
        return Err(refusal.clone());
    }
    let given = delivery::deliver(&state.services, caller, request, sent, state.now())?;
    open.server = Some((given.server, given.number));
    open.tried = open.tried.saturating_add(1);
    Ok(())
}

/// Takes what waits now for a party that is no application, and not what waits again when it was taken.
fn each(link: &Link, take: impl FnMut(Descriptor)) {
    if link.has_frames() {
        let (mut waiting, mut turn) = (Vec::new(), Vec::new());
        loop {
            link.news(&mut turn);
            if turn.is_empty() {
                break;
            }
            waiting.append(&mut turn);
        }
        waiting.into_iter().for_each(take);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::messages::memory::common::Common;
    use crate::schemas::plans::tests::descriptors;
    use crate::schemas::typed::Typed;
    use bertha_managed::attach::Role;

    #[test]
    fn what_waits_again_when_it_was_taken_is_not_taken_again() {
        let typed = Arc::new(Typed::read(descriptors("a.proto", &["A"], "field")).unwrap());
        let link =
            Link::daemon(("a".into(), None), "a".into(), Role::Server, typed, 1 << 10, &Common::new(0));
        (0..200).for_each(|call| link.tell(Descriptor::Cancellation { call }));
        let mut taken = 0;
        each(&link, |descriptor| {
            taken += 1;
            assert!(taken <= 200, "it is taken again");
            link.tell(descriptor);
        });
        assert_eq!(taken, 200);
    }
}
