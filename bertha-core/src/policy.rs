//! Conditions under which an alternative of a `select!` is preferred.

use std::fmt;

/// A condition under which an alternative of a `select!` is preferred: `select!(A, B; prefer 0 if MyPolicy)`.
///
/// It is asked when the connection is made, and on a connection with any number of endpoints again as participants come and go. If
/// the answer is another one then, a participant whose stack has this policy proposes the other alternative to all.
///
/// The answer depends on the [`Situation`] alone: a policy that reads something else besides, such as the load of the host, is not
/// asked when that changes. It returns at once, and may be asked often and in vain. Participants need not have the same policies; if
/// they contradict each other, each has its wish once among the same participants.
///
/// Its `Display` names it and its parameters, and stands in `explain()`. Policies that read the same count as the same one.
///
/// ```
/// use bertha_core::{Describe, Policy, Situation, make_stack, select};
/// # use bertha_core::Identity;
/// # #[derive(Identity)] struct ReceiverOrdered;
/// # #[derive(Identity)] struct ServiceOrdered;
/// use std::fmt;
///
/// /// Holds among an odd number of participants.
/// struct Odd;
///
/// impl Policy for Odd {
///     fn holds(&self, situation: &Situation) -> bool {
///         situation.participants() % 2 == 1
///     }
/// }
///
/// impl fmt::Display for Odd {
///     fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
///         f.write_str("Odd")
///     }
/// }
///
/// let stack = make_stack!(select!(ReceiverOrdered, ServiceOrdered; prefer 0 if Odd));
/// assert_eq!(stack.explain().to_string(), "(ReceiverOrdered | ServiceOrdered; prefers the former if Odd)");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no condition under which a `select!` prefers an alternative",
    label = "not a `Policy`",
    note = "a condition is a `Policy`, such as `NumParticipantsAtMost(2)`, or a type of yours that implements it"
)]
pub trait Policy: fmt::Display + Send + Sync + 'static {
    /// Whether the alternative is preferred in this situation.
    fn holds(&self, situation: &Situation) -> bool;
}

/// The facts about a connection when a [`Policy`] is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Situation {
    participants: usize,
}

impl Situation {
    /// That of a connection between two ends.
    pub const TWO_ENDS: Self = Self::among(2);

    /// That of a connection with this number of participants.
    pub const fn among(participants: usize) -> Self {
        Self { participants }
    }

    /// The number of ends of the connection, this one among them; two on a connection between two ends.
    pub const fn participants(&self) -> usize {
        self.participants
    }
}

/// Holds while a connection has at most this number of participants. A connection between two ends has two.
///
/// With `select!(A, B; prefer 0 if NumParticipantsAtMost(2))`, `B` is proposed when the third participant joins, and `A` again
/// when it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumParticipantsAtMost(pub usize);

impl Policy for NumParticipantsAtMost {
    fn holds(&self, situation: &Situation) -> bool {
        situation.participants() <= self.0
    }
}

impl fmt::Display for NumParticipantsAtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NumParticipantsAtMost({})", self.0)
    }
}
