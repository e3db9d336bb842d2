//! The state of a link. The diagram of its changes stands in [`establishing`](super::establishing).

use std::sync::atomic::{AtomicU8, Ordering};

/// The state of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LinkState {
    /// A client waits for the server's answer. The stack is built, and its first messages leave with the
    /// offer.
    AwaitingAnswer,
    /// A server has yet to send its answer, which waits for data to go with. The link is usable.
    AnswerPending,
    /// A client has yet to prove its address to the server. The link is usable, within the anti-amplification
    /// limit.
    AddressUnvalidated,
    /// The link is usable, and a call has nothing to do before it uses the base.
    Up,
    /// The link has ended.
    Ended(End),
}

/// The reason for which a link has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// This end closed the connection.
    Closed,
    /// The peer closed the connection.
    ClosedByPeer,
    /// The peer dropped its end without closing the connection.
    DroppedByPeer,
    /// The peer could not set up its stack.
    PeerFailed,
    /// The peer does not know the connection, or the server has handed it over to the client's next
    /// connection.
    Reset,
    /// No message of the peer arrived for the whole idle time-out.
    TimedOut,
    /// The server agreed to another stack than the stack on this link.
    Replaced,
    /// The server did not agree.
    NotAgreed,
    /// The client did not prove its address in time.
    AddressNotValidated,
    /// The server has ended the connection to make room for another connection.
    Evicted,
    /// A stack of this end was changed and could not deliver its messages.
    MessagesLost,
}

impl End {
    /// All reasons, in the order of their numbers.
    const ALL: [Self; 11] = [
        Self::Closed,
        Self::ClosedByPeer,
        Self::DroppedByPeer,
        Self::PeerFailed,
        Self::Reset,
        Self::TimedOut,
        Self::Replaced,
        Self::NotAgreed,
        Self::AddressNotValidated,
        Self::Evicted,
        Self::MessagesLost,
    ];
}

/// The number of [`LinkState::Ended`] with the first reason. The numbers of the other reasons follow.
const FIRST_END: u8 = 4;

impl LinkState {
    /// Returns true if calls can use the link, before or after the proof of the peer's address.
    pub(crate) fn is_usable(self) -> bool {
        matches!(self, Self::AnswerPending | Self::AddressUnvalidated | Self::Up)
    }

    /// Returns the number that stands for the state in an atomic variable.
    const fn to_u8(self) -> u8 {
        match self {
            // Zero, since the hot path compares with this state.
            Self::Up => 0,
            Self::AwaitingAnswer => 1,
            Self::AnswerPending => 2,
            Self::AddressUnvalidated => 3,
            Self::Ended(end) => FIRST_END + end as u8,
        }
    }

    /// Returns the state for which a number stands. A number without a state counts as a close by this end.
    fn from_u8(number: u8) -> Self {
        match number {
            0 => Self::Up,
            1 => Self::AwaitingAnswer,
            2 => Self::AnswerPending,
            3 => Self::AddressUnvalidated,
            _ => {
                let end = End::ALL.get(usize::from(number - FIRST_END));
                Self::Ended(end.copied().unwrap_or(End::Closed))
            }
        }
    }
}

/// A [`LinkState`] that tasks share. A link that has ended stays ended.
#[derive(Debug)]
pub(super) struct AtomicLinkState(AtomicU8);

impl AtomicLinkState {
    pub(super) const fn new(state: LinkState) -> Self {
        Self(AtomicU8::new(state.to_u8()))
    }

    pub(super) fn load(&self) -> LinkState {
        LinkState::from_u8(self.0.load(Ordering::Acquire))
    }

    /// Returns true if this is the state: one load and one comparison.
    #[inline]
    pub(super) fn is(&self, state: LinkState) -> bool {
        self.0.load(Ordering::Acquire) == state.to_u8()
    }

    /// Replaces the state `from` by `to`. Returns true if the state was `from`.
    pub(super) fn advance(&self, from: LinkState, to: LinkState) -> bool {
        self.0.compare_exchange(from.to_u8(), to.to_u8(), Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Ends the link. Returns false if the link had ended before, and keeps the first reason.
    pub(super) fn end(&self, end: End) -> bool {
        let ended = |state| (state < FIRST_END).then_some(LinkState::Ended(end).to_u8());
        self.0.fetch_update(Ordering::AcqRel, Ordering::Acquire, ended).is_ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_state_has_its_own_number() {
        use LinkState::{AddressUnvalidated, AnswerPending, AwaitingAnswer, Ended, Up};
        let others = [Up, AwaitingAnswer, AnswerPending, AddressUnvalidated];
        let states: Vec<_> = others.into_iter().chain(End::ALL.map(Ended)).collect();
        for (number, state) in states.iter().enumerate() {
            assert_eq!(usize::from(state.to_u8()), number, "{state:?}");
        }
        let all: Vec<_> = (0..=u8::MAX).map(LinkState::from_u8).collect();
        assert_eq!(all[..states.len()], states);
        assert!(all[states.len()..].iter().all(|state| *state == Ended(End::Closed)));
    }

    #[test]
    fn the_first_end_stays() {
        let state = AtomicLinkState::new(LinkState::AwaitingAnswer);
        assert!(state.advance(LinkState::AwaitingAnswer, LinkState::Up) && state.is(LinkState::Up));
        assert!(state.end(End::TimedOut) && !state.end(End::Closed));
        assert!(!state.advance(LinkState::Up, LinkState::AnswerPending));
        assert_eq!(state.load(), LinkState::Ended(End::TimedOut));
    }

    #[test]
    fn calls_can_use_a_link_that_is_up_or_waits_for_a_proof() {
        use LinkState::{AddressUnvalidated, AnswerPending, AwaitingAnswer, Ended, Up};
        assert!([AnswerPending, AddressUnvalidated, Up].into_iter().all(LinkState::is_usable));
        assert!(!AwaitingAnswer.is_usable() && !End::ALL.into_iter().any(|end| Ended(end).is_usable()));
    }
}
