//! Whether a call that waits asks again at once.

use crate::{SpinHistory, Waiting};
use std::time::{Duration, Instant};

/// The state of one wait under a [policy](Waiting).
#[derive(Debug, Clone, Copy, Default)]
pub enum Spin {
    /// It has not begun.
    #[default]
    Before,
    /// It spins until then.
    Until(Instant),
    /// It parks.
    Not,
}

impl Spin {
    /// Whether to ask again at once, should nothing be there; else to park.
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

    /// The wait has ended with a message.
    #[inline]
    pub fn on_hit(&self, history: &SpinHistory) {
        if matches!(self, Self::Until(_)) {
            history.on_hit();
        }
    }
}
