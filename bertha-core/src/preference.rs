//! The preferred alternative of a `select!`, and the condition under which it is preferred.

use std::fmt;

/// A condition that holds while a connection has at most this number of participants. A connection between two ends has
/// two.
///
/// A `select!` can prefer an alternative under it: `select!(A, B; prefer 0 if NumParticipantsAtMost(2))`. On a connection
/// with any number of endpoints, a participant whose stack has this preference then proposes `B` when the third
/// participant joins, and `A` again when it leaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumParticipantsAtMost(pub usize);

impl NumParticipantsAtMost {
    /// Whether it holds with this number of participants.
    pub const fn holds(self, participants: usize) -> bool {
        participants <= self.0
    }
}

impl fmt::Display for NumParticipantsAtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NumParticipantsAtMost({})", self.0)
    }
}

/// The preferred branch of the two of a choice: always the same one, or one while a condition holds and otherwise the
/// other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Preference {
    branch: u8,
    condition: Option<NumParticipantsAtMost>,
}

impl Preference {
    /// The number of participants of a connection between two ends.
    pub const TWO_ENDS: usize = 2;

    /// Prefers this branch, 0 or 1, always.
    pub const fn branch(branch: u8) -> Self {
        Self { branch: if branch == 0 { 0 } else { 1 }, condition: None }
    }

    /// Prefers the branch only while `condition` holds, and otherwise the other one.
    #[must_use]
    pub const fn only_if(self, condition: NumParticipantsAtMost) -> Self {
        Self { condition: Some(condition), ..self }
    }

    /// The preferred branch with this number of participants: 0 or 1.
    pub const fn among(self, participants: usize) -> u8 {
        match self.condition {
            Some(condition) if !condition.holds(participants) => 1 - self.branch,
            _ => self.branch,
        }
    }

    /// Whether it depends on the number of participants.
    pub const fn is_conditional(self) -> bool {
        self.condition.is_some()
    }
}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.branch == 0 { "the former" } else { "the latter" })?;
        self.condition.map_or(Ok(()), |condition| write!(f, " if {condition}"))
    }
}

/// Prefers this branch, 0 or 1, always.
impl From<u8> for Preference {
    fn from(branch: u8) -> Self {
        Self::branch(branch)
    }
}
