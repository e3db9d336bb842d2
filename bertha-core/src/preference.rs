//! Which alternative of a `select!` is preferred, and while what holds.

use std::fmt;

/// Holds while a connection has at most so many participants. A connection between two ends has two.
///
/// With it a `select!` prefers an alternative for a time: `select!(A, B; prefer 0 if NumParticipantsAtMost(2))`. On a
/// connection with any number of endpoints, one of those that say so proposes the other alternative as the third comes, and
/// this one again as it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct NumParticipantsAtMost(pub usize);

impl NumParticipantsAtMost {
    /// Whether it holds among so many participants.
    pub const fn holds(self, participants: usize) -> bool {
        participants <= self.0
    }
}

impl fmt::Display for NumParticipantsAtMost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "NumParticipantsAtMost({})", self.0)
    }
}

/// Which of the two branches of a choice is preferred: always the same, or one while a condition holds and the other while
/// it does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Preference {
    branch: u8,
    condition: Option<NumParticipantsAtMost>,
}

impl Preference {
    /// How many participants a connection between two ends has.
    pub const TWO_ENDS: usize = 2;

    /// Prefers this branch, 0 or 1, always.
    pub const fn branch(branch: u8) -> Self {
        Self { branch: if branch == 0 { 0 } else { 1 }, condition: None }
    }

    /// Prefers the branch only while this holds, and the other one while it does not.
    #[must_use]
    pub const fn only_if(self, condition: NumParticipantsAtMost) -> Self {
        Self { condition: Some(condition), ..self }
    }

    /// The branch that is preferred among so many participants: 0 or 1.
    pub const fn among(self, participants: usize) -> u8 {
        match self.condition {
            Some(condition) if !condition.holds(participants) => 1 - self.branch,
            _ => self.branch,
        }
    }

    /// Whether it depends on how many participants there are.
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
