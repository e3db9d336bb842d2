//! The pause between two lines of the log that strangers can cause.

use std::time::{Duration, Instant};

/// Minimum pause between two lines.
const PAUSE: Duration = Duration::from_secs(1);

/// The time of the last line, if there was a line.
#[derive(Debug, Default)]
pub(super) struct LogPause(Option<Instant>);

impl LogPause {
    /// Returns true, and begins the next pause, if a line is due. A line is always due where the time is not
    /// known.
    pub(super) fn is_over(&mut self, now: Option<Instant>) -> bool {
        let is_over = match (self.0, now) {
            (Some(told), Some(now)) => now.saturating_duration_since(told) >= PAUSE,
            _ => true,
        };
        if is_over {
            self.0 = now;
        }
        is_over
    }
}
