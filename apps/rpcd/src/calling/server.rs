//! The way of outcomes from a server.

use crate::calling::caller::{self, Breach, LONG, Outcome};
use crate::calling::elsewhere;
use crate::failures::details::Details;
use crate::parties::link::Link;
use crate::state::State;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Descriptor, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// Takes descriptors of a server, for a time. Returns those that are left: a response may take milliseconds to copy, and other applications
/// come in between.
pub(crate) fn take<'a>(
    link: &Arc<Link>,
    descriptors: &'a [Descriptor],
    state: &State,
) -> Result<&'a [Descriptor], Breach> {
    let now = state.now();
    for (place, descriptor) in descriptors.iter().enumerate() {
        match *descriptor {
            Descriptor::Response { call, message } => {
                if !on_outcome(link, call, || Outcome::Response(link, message), now) {
                    link.done(message.number);
                }
            }
            Descriptor::Failure { call, kind, may_have_run, reason } => {
                on_failure(link, call, || link.failure(kind, reason), kind, may_have_run, state);
                if reason.at != 0 {
                    link.done(reason.number);
                }
            }
            Descriptor::Cancellation { call } => {
                let dropped = || {
                    let reason = "the server dropped the call".into();
                    let refusal = Refusal { kind: FailureKind::Failed, reason };
                    Outcome::Failure { refusal, details: Details::OfDaemon, may_have_run: true }
                };
                on_outcome(link, call, dropped, now);
            }
            Descriptor::Done(done) => link.take_back(done.numbers()),
            _ => return Err(Breach("a server calls")),
        }
        if state.now() - now > LONG {
            return Ok(&descriptors[place + 1..]);
        }
    }
    Ok(&[])
}

/// Fails all calls of a server that has gone.
pub(crate) fn end_all(link: &Link, refusal: &Refusal, may_have_run: bool, now: Duration) {
    let given: Vec<_> = link.given.lock().take_all().collect();
    for (caller, call) in given {
        let outcome = Outcome::Failure { refusal: refusal.clone(), details: Details::OfDaemon, may_have_run };
        caller::on_outcome(&caller, call, outcome, now);
    }
}

/// Ends a call, unless its caller has cancelled it. Returns true if the response is needed in the server's memory until it has been sent.
fn on_outcome<'a>(link: &Link, call: u64, outcome: impl FnOnce() -> Outcome<'a>, now: Duration) -> bool {
    let taken = link.take_given(call);
    taken.is_some_and(|(caller, call)| caller::on_outcome(&caller, call, outcome(), now))
}

/// Ends a call with a failure that a server of another kind gives.
pub(crate) fn fail(
    link: &Arc<Link>,
    call: u64,
    (refusal, details): (Refusal, Details),
    may_have_run: bool,
    state: &State,
) {
    let kind = refusal.kind;
    on_failure(link, call, || (refusal, details), kind, may_have_run, state);
}

/// Ends a call with a failure, unless it did not run and goes to another server of its route.
fn on_failure(
    link: &Arc<Link>,
    call: u64,
    failure: impl FnOnce() -> (Refusal, Details),
    kind: FailureKind,
    may_have_run: bool,
    state: &State,
) {
    let is_unserved = kind == FailureKind::Unavailable && !may_have_run && link.has_frames();
    if is_unserved {
        // Without this a peer that takes calls and runs none would have the fewest, and so get the most.
        state.services.failed(link, state.now());
    }
    let Some((caller, number)) = link.take_given(call) else { return };
    let (refusal, details) = failure();
    if is_unserved && elsewhere::try_other(&caller, number, &refusal, state) {
        return;
    }
    let outcome = Outcome::Failure { refusal, details, may_have_run };
    caller::on_outcome(&caller, number, outcome, state.now());
}
