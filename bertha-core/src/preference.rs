//! The preferred alternative of a `select!`.

use crate::{Policy, Situation};
use std::fmt;
use std::sync::Arc;

/// The preferred branch of a choice between two: always the same branch, or one branch while a [`Policy`]
/// holds and the other branch otherwise.
#[derive(Clone)]
pub struct Preference {
    branch: u8,
    condition: Option<Arc<dyn Policy>>,
}

impl Preference {
    /// Prefers this branch, 0 or 1, always.
    pub const fn branch(branch: u8) -> Self {
        Self { branch: if branch == 0 { 0 } else { 1 }, condition: None }
    }

    /// Prefers the branch only while `policy` holds, and the other branch otherwise.
    #[must_use]
    pub fn only_if(self, policy: Arc<dyn Policy>) -> Self {
        Self { condition: Some(policy), ..self }
    }

    /// Returns the preferred branch in this situation: 0 or 1.
    pub fn in_situation(&self, situation: &Situation) -> u8 {
        match &self.condition {
            Some(condition) if !condition.holds(situation) => 1 - self.branch,
            _ => self.branch,
        }
    }

    /// Returns true if the preferred branch depends on the situation.
    pub const fn is_conditional(&self) -> bool {
        self.condition.is_some()
    }
}

impl PartialEq for Preference {
    fn eq(&self, other: &Self) -> bool {
        let is_same = match (&self.condition, &other.condition) {
            (Some(own), Some(other)) => Arc::ptr_eq(own, other) || own.to_string() == other.to_string(),
            (own, other) => own.is_none() && other.is_none(),
        };
        self.branch == other.branch && is_same
    }
}

impl Eq for Preference {}

impl fmt::Display for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.branch == 0 { "the former" } else { "the latter" })?;
        self.condition.as_ref().map_or(Ok(()), |condition| write!(f, " if {condition}"))
    }
}

impl fmt::Debug for Preference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Preference({self})")
    }
}

/// Prefers this branch, 0 or 1, always.
impl From<u8> for Preference {
    fn from(branch: u8) -> Self {
        Self::branch(branch)
    }
}
