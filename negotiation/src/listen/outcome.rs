//! The outcome of a stage of a handshake.

use crate::Negotiated;
use crate::auth::NonceByOffer;
use crate::handshake::{Accepted, AmplificationLimit};
use bertha_core::{Buf, Error};
use std::collections::VecDeque;
use std::sync::Arc;

/// A client that was answered, and whose stack is built once it has confirmed.
pub(super) struct Unconfirmed<C> {
    pub(super) base: Arc<C>,
    pub(super) accepted: Box<Accepted>,
    /// The anti-amplification limit of its address, after the answer.
    pub(super) amplification_limit: AmplificationLimit,
    /// The source of the random values of its answer.
    pub(super) fresh: NonceByOffer,
}

/// A client whose stack can be built.
pub(super) struct Entering<C> {
    pub(super) base: Arc<C>,
    pub(super) accepted: Box<Accepted>,
    /// The messages that overtook its confirmation.
    pub(super) overtaken: VecDeque<Buf>,
    pub(super) amplification_limit: AmplificationLimit,
    /// True if the answer has yet to leave.
    pub(super) has_to_answer: bool,
}

impl<C> Entering<C> {
    /// A client that has confirmed.
    pub(super) fn confirmed(base: Arc<C>, accepted: Box<Accepted>, overtaken: VecDeque<Buf>) -> Self {
        Self {
            base,
            accepted,
            overtaken,
            amplification_limit: AmplificationLimit::UNLIMITED,
            has_to_answer: false,
        }
    }
}

/// The outcome of a stage of a handshake over `B`.
pub(super) enum Outcome<B, C> {
    Unconfirmed(Unconfirmed<B>),
    Entering(Entering<B>),
    Accepted(Negotiated<C>),
    Refused {
        id: u64,
        error: Error,
    },
    Failed(Error),
    /// The base belongs to a client that has its connection.
    Followed,
    /// There is no client, or its handshake is not finished.
    Nothing,
}

impl<B, C> Outcome<B, C> {
    /// Returns true if the client has done its part in this stage.
    pub(super) fn is_good(&self) -> bool {
        matches!(self, Self::Unconfirmed(_) | Self::Entering(_)) || self.is_ready()
    }

    /// Returns true if the client has its connection.
    pub(super) fn is_ready(&self) -> bool {
        matches!(self, Self::Accepted(_))
    }
}

impl<B, C> From<Error> for Outcome<B, C> {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl<B, C> From<Result<Negotiated<C>, Error>> for Outcome<B, C> {
    fn from(built: Result<Negotiated<C>, Error>) -> Self {
        built.map_or_else(Self::Failed, Self::Accepted)
    }
}
