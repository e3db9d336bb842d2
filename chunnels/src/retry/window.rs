//! The number of requests that may be in the network at once.

use std::time::Duration;

/// The window that a connection starts with (RFC 6928).
const INITIAL: f64 = 10.0;

/// A congestion window in requests: additive increase, multiplicative decrease, as in RFC 5681.
///
/// It grows only while it is fully used. A window that grew on a lightly loaded connection would not reflect the capacity of
/// the store, and would let a whole burst of backlog through at once.
#[derive(Clone, Debug)]
pub(super) struct Window {
    size: f64,
    /// The threshold: below it the window doubles in each round trip, above it the window grows by one
    /// request.
    threshold: f64,
    max: f64,
    last_cut: Option<Duration>,
}

impl Window {
    /// Makes a window that never exceeds `max`, which is at least 1.
    pub(super) fn new(max: usize) -> Self {
        let max = max.max(1) as f64;
        Self { size: INITIAL.min(max), threshold: max, max, last_cut: None }
    }

    /// Returns the number of requests that may be in the network; at least 1.
    pub(super) fn size(&self) -> usize {
        self.size as usize
    }

    /// Records a reply, while `in_network` requests, its own request included, were waiting for a reply.
    pub(super) fn on_reply(&mut self, in_network: usize) {
        if in_network >= self.size() {
            let growth = if self.size < self.threshold { 1.0 } else { 1.0 / self.size };
            self.size = (self.size + growth).min(self.max);
        }
    }

    /// Records that a request sent at `sent` counts as lost at `now`. Returns true if the window was halved.
    ///
    /// Requests that were already under way at the last cut were lost to the same congestion, so they do not
    /// cut again: there is at most one cut per round trip.
    pub(super) fn on_loss(&mut self, sent: Duration, now: Duration) -> bool {
        if self.last_cut.is_some_and(|cut| sent < cut) {
            return false;
        }
        self.size = (self.size / 2.0).max(1.0);
        self.threshold = self.size;
        self.last_cut = Some(now);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn doubles_per_round_trip_at_first_and_then_grows_by_one() {
        let mut window = Window::new(1000);
        for _ in 0..10 {
            window.on_reply(window.size());
        }
        assert_eq!(window.size(), 20);
        assert!(window.on_loss(MS, 2 * MS));
        assert_eq!(window.size(), 10);
        for _ in 0..11 {
            window.on_reply(window.size());
        }
        assert_eq!(window.size(), 11);
    }

    #[test]
    fn is_cut_once_for_all_that_was_under_way() {
        let mut window = Window::new(1000);
        assert!(window.on_loss(MS, 5 * MS));
        assert!(!window.on_loss(4 * MS, 6 * MS));
        assert_eq!(window.size(), 5);
        assert!(window.on_loss(5 * MS, 7 * MS));
        for i in 0..20 {
            window.on_loss(MS * (8 + i), MS * (8 + i));
        }
        assert_eq!(window.size(), 1);
    }

    #[test]
    fn does_not_grow_unused_or_past_its_bound() {
        let mut window = Window::new(12);
        window.on_reply(9);
        assert_eq!(window.size(), 10);
        for _ in 0..20 {
            window.on_reply(12);
        }
        assert_eq!(window.size(), 12);
        assert_eq!(Window::new(0).size(), 1);
    }
}
