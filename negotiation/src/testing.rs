//! Parts of the inside, for the fuzzers, model checkers and tests of this crate's repository.
//!
//! This module exists with the feature `__testing` alone. It is outside of the promise of stability: every
//! release may change or remove any item here. Applications and Chunnels need no item of it.

pub use crate::auth::{GroupKey, HandshakeNonce};
use crate::upgrade::Pick;
use bertha_core::{Error, Node};

/// Returns the stack with the alternatives of `pick` preferred, and elsewhere the alternatives in use: the stack that
/// an end offers when it asks for a change.
///
/// # Errors
/// [`Invalid`](bertha_core::ErrorKind::Invalid) if there are no such alternatives.
pub fn preferred(pick: &Pick, nodes: &[Node], in_use: &[u8]) -> Result<Vec<Node>, Error> {
    pick.preferred(nodes, in_use)
}

/// The handshake without I/O.
pub mod handshake {
    pub use crate::auth::claim;
    pub use crate::handshake::{
        Accepted, Admission, AdmissionControl, AmplificationLimit, Decision, EarlyData, Expected,
        FirstFlight, Flight, Freshness, Handshake, HeldTicket, Progress, ReplayFilter, Requirements, Terms,
        Tickets, decide, find,
    };
}

/// Formats of messages, as `WIRE.md` specifies them.
pub mod wire {
    pub use crate::wire::{
        Answer, Before, CLAIM, COOKIE, Close, Confirm, GROUP_HEADER, HEADER, Kind, LARGEST_JOINED, NODES,
        Offer, OfferedNode, Origin, PROVEN_GROUP_HEADER, PeerProgress, PresentedTicket, Refusal, RefusalKind,
        Retry, TICKET, Tag, Upgrade, UpgradeStep, VERSION, decode, early_cost, encode, encode_from, envelop,
        header, join, offer_in, origin, parts, proven_origin, sender,
    };
}
