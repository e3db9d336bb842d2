//! The modes of Copa, and the weight of delay in each mode.

use std::time::Duration;

/// The mode, which is the default mode at first: it keeps the queue short.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Mode {
    /// The inverse of the weight of delay in the default mode, and its minimum in the competitive mode.
    least: f64,
    /// The competitive mode, unless the default mode holds.
    competitive: Option<Competitive>,
}

/// The competition with flows that fill the queue. The inverse of the weight of delay grows and halves as the
/// window of NewReno does.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Competitive {
    inverse: f64,
    /// The time of the last change of `inverse`.
    changed: Duration,
}

impl Mode {
    /// Makes the default mode with this weight of delay against rate.
    pub(super) fn new(delta: f64) -> Self {
        Self { least: delta.recip(), competitive: None }
    }

    /// Returns 1/delta, where delta is the weight of delay against rate.
    pub(super) fn inverse_delta(&self) -> f64 {
        self.competitive.map_or(self.least, |competitive| competitive.inverse)
    }

    /// Handles a report at `now`. `is_kept_filled` is true if another flow fills the queue.
    pub(super) fn on_report(&mut self, is_kept_filled: bool, now: Duration, rtt: Duration) {
        match &mut self.competitive {
            _ if !is_kept_filled => self.competitive = None,
            None => self.competitive = Some(Competitive { inverse: self.least, changed: now }),
            Some(Competitive { inverse, changed }) if now.saturating_sub(*changed) >= rtt => {
                *inverse += 1.0;
                *changed = now;
            }
            Some(_) => {}
        }
    }

    /// Handles a loss at `now`, once per round trip.
    pub(super) fn on_loss(&mut self, now: Duration) {
        if let Some(Competitive { inverse, changed }) = &mut self.competitive {
            *inverse = (*inverse / 2.0).max(self.least);
            *changed = now;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    #[test]
    fn the_mode_follows_the_queue_and_begins_anew() {
        let mut mode = Mode::new(0.5);
        mode.on_report(false, RTT, RTT);
        mode.on_loss(RTT);
        assert_eq!((mode.competitive, mode.inverse_delta()), (None, 2.0));
        mode.on_report(true, 2 * RTT, RTT);
        assert_eq!(mode.competitive, Some(Competitive { inverse: 2.0, changed: 2 * RTT }));
        mode.on_report(true, 3 * RTT, RTT);
        assert_eq!(mode.inverse_delta(), 3.0);
        mode.on_report(false, 4 * RTT, RTT);
        assert_eq!((mode.competitive, mode.inverse_delta()), (None, 2.0));
        mode.on_report(true, 5 * RTT, RTT);
        assert_eq!(mode.inverse_delta(), 2.0);
    }

    #[test]
    fn the_inverse_grows_by_one_in_a_round_trip_and_halves_at_a_loss() {
        let mut mode = Mode::new(0.5);
        mode.on_report(true, Duration::ZERO, RTT);
        // There are two reports in a round trip.
        (1..=18).for_each(|half| mode.on_report(true, half * RTT / 2, RTT));
        assert_eq!(mode.inverse_delta(), 11.0);
        mode.on_loss(9 * RTT + RTT / 2);
        assert_eq!(mode.inverse_delta(), 5.5);
        // A round trip with a loss is no round trip without a loss.
        mode.on_report(true, 10 * RTT, RTT);
        assert_eq!(mode.inverse_delta(), 5.5);
        mode.on_report(true, 10 * RTT + RTT / 2, RTT);
        assert_eq!(mode.inverse_delta(), 6.5);
        (0..9).for_each(|_| mode.on_loss(11 * RTT));
        assert_eq!(mode.inverse_delta(), 2.0);
    }
}
