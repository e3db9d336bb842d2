//! The velocity of Copa's window.

use std::time::Duration;

/// Number of round trips in one direction from which on the velocity doubles.
const STEADY: u32 = 3;

/// The factor by which the window changes faster, the longer its direction stays the same.
#[derive(Debug)]
pub(super) struct Velocity {
    factor: f64,
    /// The direction of the window in the last round trip.
    is_up: bool,
    /// Number of round trips in this direction, after the first of them.
    same: u32,
    /// The time and the window at the beginning of the round trip.
    start: Duration,
    packets: f64,
}

impl Velocity {
    /// Begins at `now`, with this window.
    pub(super) fn new(now: Duration, packets: f64) -> Self {
        Self { factor: 1.0, is_up: true, same: 0, start: now, packets }
    }

    /// Returns the factor for a step at `now` from this window into a direction.
    pub(super) fn step(&mut self, is_up: bool, packets: f64, now: Duration, rtt: Duration) -> f64 {
        if now.saturating_sub(self.start) >= rtt {
            self.end_round(packets > self.packets);
            (self.start, self.packets) = (now, packets);
        }
        // A window that was fast in one direction does not turn at the same speed.
        if is_up != self.is_up {
            self.reset();
        }
        self.factor
    }

    pub(super) fn reset(&mut self) {
        (self.factor, self.same) = (1.0, 0);
    }

    fn end_round(&mut self, is_up: bool) {
        if is_up != self.is_up {
            self.is_up = is_up;
            self.reset();
            return;
        }
        self.same += 1;
        if self.same >= STEADY {
            self.factor *= 2.0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(20);

    /// Returns the factors of two steps in each round trip.
    fn factors(velocity: &mut Velocity, is_up: bool, rounds: u32) -> Vec<f64> {
        let (start, mut packets) = (velocity.start, velocity.packets);
        let steps = 1..=2 * rounds;
        let step = |half| {
            packets += if is_up { 1.0 } else { -1.0 };
            velocity.step(is_up, packets, start + half * RTT / 2, RTT)
        };
        steps.map(step).collect()
    }

    #[test]
    fn it_doubles_from_the_third_round_trip_on() {
        let mut velocity = Velocity::new(Duration::ZERO, 100.0);
        let expected = [1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0, 4.0, 8.0];
        assert_eq!(factors(&mut velocity, true, 5), expected);
        // The first round trip downwards follows a round trip upwards.
        let expected = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0, 4.0];
        assert_eq!(factors(&mut velocity, false, 5), expected);
    }
}
