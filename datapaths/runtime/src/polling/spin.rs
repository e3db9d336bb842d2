//! The decision of a waiting call between another attempt and sleep.

use super::{SpinHistory, Waiting};
use std::time::{Duration, Instant};

/// The state of one wait under a [policy](Waiting).
#[derive(Debug, Clone, Copy, Default)]
pub enum Spin {
    /// The wait has not begun.
    #[default]
    Before,
    /// The call spins until this time.
    Until(Instant),
    /// The call parks.
    Not,
}

impl Spin {
    /// Returns true if the call should try again at once when the source is empty, and false if it should
    /// park.
    #[inline]
    pub fn goes_on(&mut self, waiting: Waiting, history: &SpinHistory) -> bool {
        match waiting {
            Waiting::Park => false,
            Waiting::Spin => true,
            Waiting::Adaptive { spin_for } => self.goes_on_for(spin_for, history),
        }
    }

    fn goes_on_for(&mut self, spin_for: Duration, history: &SpinHistory) -> bool {
        match *self {
            Self::Not => false,
            Self::Before => {
                let should = history.should_spin();
                *self = if should { Self::Until(Instant::now() + spin_for) } else { Self::Not };
                should
            }
            Self::Until(deadline) if Instant::now() < deadline => true,
            Self::Until(_) => {
                history.on_miss();
                *self = Self::Not;
                false
            }
        }
    }

    /// Records that the wait has ended with a message.
    #[inline]
    pub fn on_hit(&self, history: &SpinHistory) {
        if matches!(self, Self::Until(_)) {
            history.on_hit();
        }
    }
}
