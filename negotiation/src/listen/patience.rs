//! The time for which a handshake may wait for its peer while newcomers want its place.

use std::time::{Duration, Instant};

/// A handshake that has waited for less keeps its place, whatever others needed.
const FLOOR: Duration = Duration::from_millis(50);

/// Newcomers that have waited for so long are more than the places can hold with the [floor](FLOOR).
const PRESSED: Duration = Duration::from_millis(250);

/// The time for which a handshake keeps its place without a word of its peer, without a clock.
///
/// A crowd of honest clients and a flood of silent ones look alike at first, so the time begins long. Each handshake that was given up in
/// vain, since its peer had said nothing, shortens the time, down to twice the smoothed time that handshakes which finished needed: in a crowd
/// these take long as well. With free places the time is long again.
#[derive(Debug)]
pub(super) struct Patience {
    longest: Duration,
    current: Duration,
    /// The smoothed time that handshakes which finished needed.
    needed: Duration,
    /// The first and the last time at which a newcomer had to wait, of those without a pause between them.
    pressed: Option<(Instant, Instant)>,
}

impl Patience {
    /// Makes a patience of at most, and at first, `longest`.
    pub(super) fn new(longest: Duration) -> Self {
        Self { longest, current: longest, needed: Duration::ZERO, pressed: None }
    }

    /// The time for which a handshake may wait.
    pub(super) fn limit(&self, now: Instant) -> Duration {
        let floor = if self.is_overrun(now) { Duration::ZERO } else { FLOOR };
        self.current.max(2 * self.needed).max(floor).min(self.longest)
    }

    /// A handshake has finished, `needed` after it began.
    pub(super) fn finished(&mut self, needed: Duration) {
        self.needed = self.needed - self.needed / 8 + needed / 8;
    }

    /// A handshake had to go without having heard of its peer in time.
    pub(super) fn in_vain(&mut self) {
        self.current -= self.current / 16;
    }

    /// A newcomer finds no place.
    pub(super) fn pressed(&mut self, now: Instant) {
        let since = match self.pressed {
            Some((since, last)) if now.saturating_duration_since(last) < PRESSED => since,
            _ => now,
        };
        self.pressed = Some((since, now));
    }

    /// There are places enough.
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
