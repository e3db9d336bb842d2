//! The pause between two lines of the log that strangers can cause.

use std::time::{Duration, Instant};

/// Minimum pause between two lines, unless another pause is set.
const PAUSE: Duration = Duration::from_secs(1);

/// The time of the last line, if there was a line, and the pause behind it: a second by default.
#[derive(Debug)]
pub struct LogPause {
    pause: Duration,
    told: Option<Instant>,
}

impl Default for LogPause {
    fn default() -> Self {
        Self::new(PAUSE)
    }
}

impl LogPause {
    /// Makes a pause of this length, which has not begun.
    pub const fn new(pause: Duration) -> Self {
        Self { pause, told: None }
    }

    /// Returns true, and begins the next pause, if a line is due. A line is always due where the time is not
    /// known.
    pub fn is_over(&mut self, now: Option<Instant>) -> bool {
        let is_over = match (self.told, now) {
            (Some(told), Some(now)) => now.saturating_duration_since(told) >= self.pause,
            _ => true,
        };
        if is_over {
            self.told = now;
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_due_once_in_a_pause() {
        let mut pause = LogPause::new(Duration::from_secs(10));
        let start = Instant::now();
        let at = |seconds| Some(start + Duration::from_secs(seconds));
        let due = [0, 1, 9, 10, 11, 20].map(|seconds| pause.is_over(at(seconds)));
        assert_eq!(due, [true, false, false, true, false, true]);
        assert!(pause.is_over(None), "the time is not known");
    }
}
