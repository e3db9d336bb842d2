//! The way of outcomes from a server.

use crate::caller::{self, Breach, LONG, Outcome};
use crate::details::Details;
use crate::link::Link;
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
                note(link, kind, may_have_run, state);
                let failure = || {
                    let (refusal, details) = link.failure(kind, reason);
                    Outcome::Failure { refusal, details, may_have_run }
                };
                on_outcome(link, call, failure, now);
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
    note(link, refusal.kind, may_have_run, state);
    on_outcome(link, call, || Outcome::Failure { refusal, details, may_have_run }, state.now());
}

/// Notes a failure of a peer that takes calls and runs none. Without this it would have the fewest calls, and so get the most.
fn note(link: &Arc<Link>, kind: FailureKind, may_have_run: bool, state: &State) {
    if kind == FailureKind::Unavailable && !may_have_run && link.has_frames() {
        state.services.failed(link, state.now());
    }
}
