//! Conditions under which an alternative of a `select!` is preferred.

use std::fmt;

/// A condition under which an alternative of a `select!` is preferred: `select!(A, B; prefer 0 if MyPolicy)`.
///
/// A policy is evaluated when the connection is made. On a connection with any number of endpoints it is
/// evaluated again as participants come and go. If the answer has changed, a participant whose stack has this
/// policy proposes the other alternative to all participants.
///
/// The answer depends on the [`Situation`] alone: a policy that reads anything else, such as the load of the
/// host, is not evaluated when that load changes. A policy returns at once, and may be evaluated often and
/// without effect. Participants may have different policies; if the policies contradict each other, each
/// policy gets its preferred alternative once among the same participants.
///
/// Its `Display` shows its name and parameters, and appears in `explain()`. Policies with the same text count
/// as the same policy.
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
    /// Returns true if the alternative is preferred in this situation.
    fn holds(&self, situation: &Situation) -> bool;
}

/// The facts about a connection when a [`Policy`] is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Situation {
    participants: usize,
}

impl Situation {
    /// The situation of a connection between two ends.
    pub const TWO_ENDS: Self = Self::among(2);

    /// Returns the situation of a connection with this number of participants.
    pub const fn among(participants: usize) -> Self {
        Self { participants }
    }

    /// Returns the number of ends of the connection, this end included; two on a connection between two ends.
    pub const fn participants(&self) -> usize {
        self.participants
    }
}

/// A policy that holds while a connection has at most this number of participants. A connection between two
/// ends has two.
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
