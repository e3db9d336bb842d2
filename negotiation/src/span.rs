//! The spans of negotiation, for traces.

use crate::handshake::Agreement;
use bertha_core::{Base, Error};
use std::fmt;
use std::sync::Arc;
use tracing::field::{Empty, display};
use tracing::{Span, info_span};

/// A client's: from the resolution of the name to the built stack.
pub(crate) fn connecting(to: &dyn fmt::Display) -> Span {
    info_span!(
        target: "bertha::negotiation",
        "negotiation.connect",
        otel.kind = "client",
        to = display(to),
        agreement = Empty,
        error = Empty
    )
}

/// A server's: from the offer that is accepted to the built stack.
pub(crate) fn accepting(base: &impl Base) -> Span {
    info_span!(
        target: "bertha::negotiation",
        "negotiation.accept",
        otel.kind = "server",
        peer = display(base.peer_addr()),
        agreement = Empty,
        error = Empty
    )
}

/// A request for other alternatives: until this end sends through them.
pub(crate) fn upgrading(to: &dyn fmt::Debug) -> Span {
    info_span!(
        target: "bertha::negotiation",
        "negotiation.upgrade",
        to = debug(to),
        agreement = Empty,
        error = Empty
    )
}

/// A change at either end: from the agreement to the end of the old stack. Below `cause`, if that is known at this end.
pub(crate) fn changing(cause: &Span) -> Span {
    info_span!(target: "bertha::negotiation", parent: cause.id(), "negotiation.change", changed = false)
}

/// Tells what has come of it.
pub(crate) fn ended(span: &Span, outcome: Result<Arc<Agreement>, &Error>) {
    if let Err(error) = &outcome {
        tracing::debug!(target: "bertha::negotiation", parent: span, %error, "nothing was agreed");
    }
    if span.is_disabled() {
        return;
    }
    match outcome {
        Ok(agreement) => span.record("agreement", display(agreement)),
        Err(error) => span.record("error", display(error)),
    };
}
