//! The end of a party.

use crate::calling::{caller, elsewhere, server};
use crate::parties::link::Link;
use crate::state::State;
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::Refusal;
use std::sync::Arc;

/// Ends a party, and its calls. Those that it has not heard of go to another of its route, if there is one.
pub(crate) fn end(link: &Arc<Link>, state: &State, reason: &str, may_have_run: bool) {
    state.services.closed(link, state.now());
    state.services.remove(link);
    caller::end_all(link);
    let refusal = Refusal { kind: FailureKind::Unavailable, reason: reason.into() };
    elsewhere::pass_all_on(link, &refusal, state);
    server::end_all(link, &refusal, may_have_run, state.now());
}
