//! The way of outcomes from a server.

use crate::caller::{self, Breach, Outcome};
use crate::link::Link;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::{Descriptor, Refusal};
use std::sync::Arc;
use std::time::Duration;

/// Takes up to 64 descriptors of a server.
pub(crate) fn take(link: &Arc<Link>, descriptors: &[Descriptor], now: Duration) -> Result<(), Breach> {
    for descriptor in descriptors {
        match *descriptor {
            Descriptor::Response { call, message } => {
                on_outcome(link, call, || Outcome::Response(link, message), now);
                link.done(message.number);
            }
            Descriptor::Failure { call, kind, may_have_run, reason } => {
                let failure = || Outcome::Failure { refusal: link.reason(kind, reason), may_have_run };
                on_outcome(link, call, failure, now);
                if reason.at != 0 {
                    link.done(reason.number);
                }
            }
            Descriptor::Cancellation { call } => {
                on_outcome(link, call, || lost(FailureKind::Failed, "the server dropped the call"), now);
            }
            Descriptor::Done(done) => link.take_back(done.numbers()),
            _ => return Err(Breach("a server calls")),
        }
    }
    Ok(())
}

/// Fails all calls of a server that has gone.
pub(crate) fn end_all(link: &Link, now: Duration) {
    let given: Vec<_> = link.given.lock().take_all().collect();
    for (caller, call) in given {
        caller::on_outcome(&caller, call, lost(FailureKind::Unavailable, "the server has gone"), now);
    }
}

/// Ends a call, unless its caller has cancelled it.
fn on_outcome<'a>(link: &Link, call: u64, outcome: impl FnOnce() -> Outcome<'a>, now: Duration) {
    let taken = link.given.lock().take(call);
    if let Some((caller, call)) = taken {
        caller::on_outcome(&caller, call, outcome(), now);
    }
}

fn lost<'a>(kind: FailureKind, reason: &str) -> Outcome<'a> {
    Outcome::Failure { refusal: Refusal { kind, reason: reason.into() }, may_have_run: true }
}
