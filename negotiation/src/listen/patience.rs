//! The time for which a handshake may wait for its peer while newcomers want its place.

use std::time::{Duration, Instant};

/// Minimum time for which a handshake keeps its place.
const FLOOR: Duration = Duration::from_millis(50);

/// Time for which newcomers have to wait without a pause until the [floor](FLOOR) no longer holds.
const PRESSED: Duration = Duration::from_millis(250);

/// The time for which a handshake keeps its place without a message of its peer. It has no clock.
///
/// A crowd of honest clients and a flood of silent clients look alike at first, so the time begins long. Each
/// handshake that was given up without a message of its peer shortens the time, down to twice the smoothed
/// time of finished handshakes, which is long in a crowd. With free places the time is long again.
#[derive(Debug)]
pub(super) struct Patience {
    longest: Duration,
    current: Duration,
    /// The smoothed time of finished handshakes.
    needed: Duration,
    /// The first and the last time at which a newcomer had to wait, without a pause in between.
    pressed: Option<(Instant, Instant)>,
}

impl Patience {
    /// Makes a patience that begins with `longest`, its maximum.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, current: longest, needed: Duration::ZERO, pressed: None }
    }

    /// Returns the time for which a handshake may wait.
    pub(super) fn limit(&self, now: Instant) -> Duration {
        let floor = if self.is_overrun(now) { Duration::ZERO } else { FLOOR };
        self.current.max(2 * self.needed).max(floor).min(self.longest)
    }

    /// Records that a handshake has finished, `needed` after it began.
    pub(super) fn finished(&mut self, needed: Duration) {
        self.needed = self.needed - self.needed / 8 + needed / 8;
    }

    /// Records that a handshake was given up without a message of its peer.
    pub(super) fn in_vain(&mut self) {
        self.current -= self.current / 16;
    }

    /// Records that a newcomer finds no place.
    pub(super) fn pressed(&mut self, now: Instant) {
        let since = match self.pressed {
            Some((since, last)) if now.saturating_duration_since(last) < PRESSED => since,
            _ => now,
        };
        self.pressed = Some((since, now));
    }

    /// Records that there are free places.
    pub(super) fn rested(&mut self) {
        self.current = self.longest;
        self.pressed = None;
    }

    /// Returns true if newcomers have had to wait for so long that the floor is too high.
    fn is_overrun(&self, now: Instant) -> bool {
        self.pressed.is_some_and(|(since, last)| {
            last.saturating_duration_since(since) >= PRESSED && now.saturating_duration_since(last) < PRESSED
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_secs(1);

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    #[test]
    fn a_flood_shortens_it_to_the_floor() {
        let (mut patience, now) = (Patience::new(LONGEST), Instant::now());
        assert_eq!(patience.limit(now), LONGEST);
        (0..100).for_each(|_| patience.in_vain());
        assert_eq!(patience.limit(now), FLOOR);
        patience.rested();
        assert_eq!(patience.limit(now), LONGEST);
    }

    #[test]
    fn it_is_twice_what_others_need_and_no_longer_than_the_longest() {
        let (mut patience, now) = (Patience::new(LONGEST), Instant::now());
        (0..1000).for_each(|_| patience.in_vain());
        (0..1000).for_each(|_| patience.finished(millis(100)));
        let limit = patience.limit(now);
        assert!(limit > millis(195) && limit <= millis(200), "{limit:?}");
        (0..1000).for_each(|_| patience.finished(Duration::from_secs(9)));
        assert_eq!(patience.limit(now), LONGEST);
    }

    #[test]
    fn the_floor_falls_while_newcomers_wait_without_a_pause() {
        let (mut patience, start) = (Patience::new(LONGEST), Instant::now());
        (0..1000).for_each(|_| patience.in_vain());
        for at in [0, 100, 200] {
            patience.pressed(start + millis(at));
            assert_eq!(patience.limit(start + millis(at)), FLOOR);
        }
        patience.pressed(start + millis(300));
        assert!(patience.limit(start + millis(300)) < FLOOR);
        assert_eq!(patience.limit(start + millis(600)), FLOOR, "after a pause");
        patience.pressed(start + millis(601));
        assert_eq!(patience.limit(start + millis(601)), FLOOR);
    }
}
