//! How often strangers are told that a port is closed.

use std::time::{Duration, Instant};

/// The errors in a [`WINDOW`]: strangers are to cause little traffic (RFC 1812, section 4.3.2.8).
const MAX_ERRORS: u32 = 100;

const WINDOW: Duration = Duration::from_secs(1);

/// A limit of errors in a fixed window of time.
#[derive(Debug)]
pub(crate) struct ErrorLimit {
    window_start: Instant,
    errors: u32,
}

impl ErrorLimit {
    pub(crate) fn new(now: Instant) -> Self {
        Self { window_start: now, errors: 0 }
    }

    /// Counts one error; false if the window has had its share.
    pub(crate) fn allow(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.window_start) >= WINDOW {
            *self = Self::new(now);
        }
        let allowed = self.errors < MAX_ERRORS;
        self.errors += u32::from(allowed);
        allowed
    }
}
