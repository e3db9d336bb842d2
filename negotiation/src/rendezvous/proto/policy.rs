//! Which alternative is preferred, depending on how many participants there are.

use super::own::set_alternative;
use bertha_core::Node;

/// Holds while a connection has at most so many participants.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumParticipantsAtMost(pub usize);

/// Prefers an alternative of a `select!` while a condition holds, and another one while it does not.
///
/// When participants come or go and the preference changes, a participant with this policy proposes to switch.
///
/// ```
/// use bertha_negotiation::rendezvous::{NumParticipantsAtMost, Policy};
/// // For `select!(ReceiverOrdered, ServiceOrdered)`: `prefer 0 if NumParticipantsAtMost(2)`.
/// let policy = Policy::prefer(0, NumParticipantsAtMost(2));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Policy {
    choice: usize,
    alternative: usize,
    condition: NumParticipantsAtMost,
}

impl Policy {
    /// Prefers the alternative with this number, counted from 0, while `condition` holds; otherwise the first of the
    /// others.
    pub fn prefer(alternative: usize, condition: NumParticipantsAtMost) -> Self {
        Self { choice: 0, alternative, condition }
    }

    /// Is about the `select!` with this number instead of the first. They are numbered from 0 in the order in which they
    /// are written, one of three alternatives counting as two.
    #[must_use]
    pub fn of_choice(self, choice: usize) -> Self {
        Self { choice, ..self }
    }

    /// Changes `picks` of `nodes` to what is preferred among `participants`.
    pub(super) fn apply(&self, nodes: &[Node], picks: &mut [u8], participants: usize) {
        let alternative = match participants <= self.condition.0 {
            true => self.alternative,
            false => usize::from(self.alternative == 0),
        };
        set_alternative(nodes, self.choice, alternative, picks);
    }
}
