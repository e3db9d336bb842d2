//! A limit on the events that strangers cause in a second.

use std::time::{Duration, Instant};

const WINDOW: Duration = Duration::from_secs(1);

/// A limit of events in a fixed window of time.
#[derive(Debug)]
pub(crate) struct RateLimit {
    /// Largest number of events in a [`WINDOW`].
    max: u32,
    window_start: Instant,
    events: u32,
}

impl RateLimit {
    /// Creates a limit of `max` events in a second.
    pub(crate) fn new(max: u32, now: Instant) -> Self {
        Self { max, window_start: now, events: 0 }
    }

    /// Counts an event. Returns false if the window has had its share.
    pub(crate) fn allow(&mut self, now: Instant) -> bool {
        if now.saturating_duration_since(self.window_start) >= WINDOW {
            *self = Self::new(self.max, now);
        }
        let allowed = self.events < self.max;
        self.events += u32::from(allowed);
        allowed
    }
}
