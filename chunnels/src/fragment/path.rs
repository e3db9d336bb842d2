//! How large a message may be on the path to the peer, without I/O: datagram packetization layer path MTU discovery
//! (RFC 8899), for a sender whose peer acknowledges nothing but probes.
//!
//! A probe is a message of the size that is tried. The peer says that it arrived; if it does not three times, the path does
//! not carry that size. Sizes are those of datagrams: of a message with the headers of the layers below.
//!
//! ```text
//!          a probe of the         nothing larger is
//!          size arrived           left to try
//!   Base --------------> Searching --------------> Complete
//!    ^                     |    ^                    |  |
//!    |                     |    +--------------------+  |
//!    |                     |      ten minutes later     |
//!    +---------------------+----------------------------+
//!      three probes of the size in use were lost: a smaller size, down to the floor
//! ```

use std::time::Duration;

/// What nearly all paths carry, and what is used until a probe has shown more (`BASE_PLPMTU`).
pub(super) const BASE: usize = 1_200;

/// What is used where not even [`BASE`] arrives (`MIN_PLPMTU`, that of IPv4 with room for headers).
pub(super) const FLOOR: usize = 512;

/// How often a size is tried (`MAX_PROBES`).
const ATTEMPTS: u32 = 3;

/// How long to wait for word of a probe (`PROBE_TIMER`, whose least value this is).
const PATIENCE: Duration = Duration::from_secs(1);

/// How often the size in use is confirmed while messages are sent (`CONFIRMATION_TIMER`): messages that the path no
/// longer carries are lost for as long, and the time of the lost probes.
const CONFIRM_AFTER: Duration = Duration::from_secs(15);

/// When larger sizes are tried once more (`PMTU_RAISE_TIMER`).
const RAISE_AFTER: Duration = Duration::from_secs(600);

/// Sizes that many links carry, less the headers of IP and UDP: IPv6's least, Ethernet below a tunnel, Ethernet with IPv6
/// and IPv4, and jumbo frames. They are tried first, from the smallest on.
const COMMON: [usize; 5] = [1_232, 1_392, 1_452, 1_472, 8_952];

/// A search ends when what may still be gained is less than this part of the size, a power of two.
const PRECISION: u32 = 5;

/// One end's knowledge of the path in its direction.
#[derive(Debug)]
pub(super) struct Path {
    /// What the path carries, as far as is known.
    size: usize,
    /// The smallest size that it does not carry, or one more than is of use.
    too_large: usize,
    /// One more than is of use.
    end: usize,
    phase: Phase,
    probe: Option<Probe>,
    /// The number of the next probe: hard to guess, so that a late word of an old one is of no probe.
    next: u32,
    /// When to confirm, and to raise.
    confirm_at: Duration,
    raise_at: Duration,
    /// Whether a message larger than the floor was sent since the size was confirmed.
    is_used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The base has to be confirmed.
    Base,
    /// Larger sizes are tried.
    Searching,
    /// Nothing larger is left to try for now.
    Complete,
}

/// A probe that is on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) number: u32,
    pub(super) size: usize,
    attempt: u32,
    due: Duration,
}

impl Path {
    /// Of a path on which sizes up to `most` are of use. `seed` is where probes start to be numbered.
    pub(super) fn new(most: usize, seed: u32) -> Self {
        Self {
            size: BASE.min(most),
            too_large: most + 1,
            end: most + 1,
            phase: Phase::Base,
            probe: None,
            next: seed,
            confirm_at: Duration::ZERO,
            raise_at: Duration::MAX,
            is_used: false,
        }
    }

    /// The largest message to send.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Messages larger than the floor were sent since the last call.
    pub(super) fn used(&mut self) {
        self.is_used = true;
    }

    /// The probe that is to be sent now, if there is one. While nobody receives, word of a probe can't come, so the wait
    /// for it begins anew: `is_receiving`.
    pub(super) fn poll(&mut self, now: Duration, is_receiving: bool) -> Option<Probe> {
        if let Some(probe) = &mut self.probe {
            if now < probe.due {
                return None;
            }
            if !is_receiving {
                probe.due = now + PATIENCE;
                return None;
            }
            let Probe { size, attempt, .. } = *probe;
            self.probe = None;
            if attempt < ATTEMPTS {
                return self.send(size, attempt + 1, now);
            }
            self.failed(size, now);
        }
        let size = self.wanted(now)?;
        self.send(size, 1, now)
    }

    /// When to call [`poll`](Self::poll) next; a message that is sent may bring it forward.
    pub(super) fn timeout(&self) -> Duration {
        match (&self.probe, self.phase) {
            (Some(probe), _) => probe.due,
            (None, Phase::Complete) => self.raise_at.min(self.confirm_at),
            (None, _) => Duration::ZERO,
        }
    }

    /// The size that is to be tried, if one is.
    fn wanted(&mut self, now: Duration) -> Option<usize> {
        if self.phase == Phase::Complete && now >= self.raise_at {
            (self.phase, self.too_large) = (Phase::Searching, self.end);
        }
        if self.phase == Phase::Base {
            return Some(self.size);
        }
        if now >= self.confirm_at {
            self.confirm_at = now + CONFIRM_AFTER;
            if std::mem::take(&mut self.is_used) {
                return Some(self.size);
            }
        }
        if self.phase == Phase::Searching {
            let size = self.candidate();
            if size.is_none() {
                (self.phase, self.raise_at) = (Phase::Complete, now + RAISE_AFTER);
            }
            return size;
        }
        None
    }

    /// The next larger size that is worth a try.
    fn candidate(&self) -> Option<usize> {
        let common = COMMON.into_iter().find(|&size| size > self.size && size < self.too_large);
        let left = self.too_large - self.size - 1;
        match common {
            Some(size) => Some(size),
            // All that there is at once, where nothing has failed yet.
            None if left > 0 && self.too_large == self.end => Some(self.end - 1),
            None if left > self.size >> PRECISION => Some(self.size + left.div_ceil(2)),
            None => None,
        }
    }

    fn send(&mut self, size: usize, attempt: u32, now: Duration) -> Option<Probe> {
        let probe = Probe { number: self.next, size, attempt, due: now + PATIENCE };
        self.next = self.next.wrapping_add(1);
        self.probe = Some(probe);
        self.probe
    }

    /// The peer says that it got the probe with this number. Word of any other is late, or made up.
    pub(super) fn arrived(&mut self, number: u32, now: Duration) {
        let Some(probe) = self.probe.take_if(|probe| probe.number == number) else { return };
        self.size = self.size.max(probe.size);
        self.confirm_at = now + CONFIRM_AFTER;
        self.is_used = false;
        if self.phase == Phase::Base {
            self.phase = Phase::Searching;
        }
    }

    /// The connection below does not take a message of this size at all.
    pub(super) fn refused(&mut self, number: u32, now: Duration) {
        if let Some(probe) = self.probe.take_if(|probe| probe.number == number) {
            self.failed(probe.size, now);
        }
    }

    fn failed(&mut self, size: usize, now: Duration) {
        if size > self.size {
            self.too_large = self.too_large.min(size);
            return;
        }
        // What was carried, or was to be, is not (a black hole, section 4.3): back to what ought to be, or to less. That has to
        // be confirmed before anything larger is tried. If not even the floor arrives, it is not the size that matters.
        let base = BASE.min(self.end - 1);
        let floor = FLOOR.min(base);
        (self.size, self.too_large) = match size {
            size if size > base => (base, size),
            size if size > floor => (floor, size),
            _ => (floor, self.end),
        };
        (self.phase, self.confirm_at) = (Phase::Base, now + CONFIRM_AFTER);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A path that carries `carries`, over which probes and their confirmations take `trip`.
    struct World {
        path: Path,
        now: Duration,
        carries: usize,
        probes: u32,
    }

    const TRIP: Duration = Duration::from_millis(40);

    impl World {
        fn new(most: usize, carries: usize) -> Self {
            Self { path: Path::new(most, u32::MAX), now: Duration::ZERO, carries, probes: 0 }
        }

        /// Runs for so long, while the application sends messages of the size in use.
        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            let mut word = None;
            while self.now < end {
                self.path.used();
                if let Some((number, _)) = word.take_if(|(_, at)| *at <= self.now) {
                    self.path.arrived(number, self.now);
                }
                if let Some(probe) = self.path.poll(self.now, true) {
                    self.probes += 1;
                    word = (probe.size <= self.carries).then_some((probe.number, self.now + TRIP));
                }
                self.now += Duration::from_millis(10);
            }
        }
    }

    #[test]
    fn common_sizes_are_found_within_a_few_round_trips() {
        for (carries, soon) in [(1_472, 1_472), (1_452, 1_452), (8_952, 8_952), (60_000, 60_000)] {
            let mut world = World::new(60_000, carries);
            world.run(Duration::from_millis(500));
            assert_eq!(world.path.size(), soon, "of {carries}");
        }
    }

    #[test]
    fn a_path_that_shrinks_is_noticed_and_one_that_grows_is_used() {
        let mut world = World::new(9_000, 1_472);
        world.run(Duration::from_secs(60));
        assert_eq!(world.path.size(), 1_472);
        world.carries = 1_300;
        world.run(CONFIRM_AFTER + ATTEMPTS * PATIENCE + TRIP * 2);
        assert!(world.path.size() <= 1_300, "{} is a black hole", world.path.size());
        world.run(Duration::from_secs(30));
        assert!((1_260..=1_300).contains(&world.path.size()), "{}", world.path.size());
        world.carries = 9_000;
        world.run(RAISE_AFTER + Duration::from_secs(30));
        assert_eq!(world.path.size(), 9_000);
    }

    #[test]
    fn a_path_below_the_base_still_carries_something() {
        let mut world = World::new(9_000, 800);
        world.run(Duration::from_secs(60));
        assert!((770..=800).contains(&world.path.size()), "{}", world.path.size());
    }

    /// Nothing arrives for a while, which says nothing of sizes.
    #[test]
    fn an_outage_is_no_smaller_path() {
        let mut world = World::new(9_000, 1_472);
        world.run(Duration::from_secs(60));
        world.carries = 0;
        world.run(Duration::from_secs(120));
        assert_eq!(world.path.size(), FLOOR);
        world.carries = 1_472;
        world.run(Duration::from_secs(10));
        assert_eq!(world.path.size(), 1_472);
    }

    #[test]
    fn idle_ends_send_no_probes() {
        let mut path = Path::new(1_472, 7);
        let mut now = Duration::ZERO;
        while let Some(probe) = path.poll(now, true) {
            path.arrived(probe.number, now);
        }
        now += RAISE_AFTER / 2;
        assert_eq!((path.poll(now, true), path.size()), (None, 1_472));
        path.used();
        now += CONFIRM_AFTER;
        assert!(path.poll(now, true).is_some_and(|probe| probe.size == 1_472));
    }

    /// Nobody hears the peer's word while nobody receives, so nothing is concluded from silence.
    #[test]
    fn silence_counts_only_while_somebody_listens() {
        let mut path = Path::new(1_472, 7);
        let first = path.poll(Duration::ZERO, false).unwrap();
        for second in 1..100 {
            assert_eq!(path.poll(Duration::from_secs(second), false), None);
        }
        path.arrived(first.number, Duration::from_secs(100));
        assert_eq!(path.size(), BASE);
        assert!(path.poll(Duration::from_secs(100), true).is_some_and(|probe| probe.size > BASE));
    }

    #[test]
    fn word_of_other_probes_changes_nothing() {
        let mut path = Path::new(9_000, 7);
        let probe = path.poll(Duration::ZERO, true).unwrap();
        path.arrived(probe.number.wrapping_add(1), Duration::ZERO);
        path.refused(probe.number.wrapping_sub(1), Duration::ZERO);
        assert_eq!(path.poll(Duration::ZERO, true), None);
        path.arrived(probe.number, Duration::ZERO);
        path.arrived(probe.number, Duration::ZERO);
        for size in [1_232, 1_392] {
            let probe = path.poll(Duration::ZERO, true).unwrap();
            assert_eq!(probe.size, size);
            path.arrived(probe.number, Duration::ZERO);
        }
        let larger = path.poll(Duration::ZERO, true).unwrap();
        path.refused(larger.number, Duration::ZERO);
        let next = path.poll(Duration::ZERO, true).unwrap();
        assert!(next.size > 1_392 && next.size < larger.size, "{} after {}", next.size, larger.size);
    }

    proptest! {
        /// Whatever the path carries, a search ends with nearly that, and never with more; and it is short.
        #[test]
        fn a_search_ends_close_below_what_the_path_carries(most in FLOOR..65_000_usize, carries in FLOOR..65_000_usize) {
            let mut world = World::new(most, carries);
            world.run(Duration::from_secs(80));
            let (size, best) = (world.path.size(), most.min(carries));
            prop_assert!(size <= best);
            prop_assert!(best - size <= (size >> PRECISION) + 1, "{size} of {best}");
            prop_assert!(world.probes <= 60, "{} probes", world.probes);
        }

        /// A path that changes at any time: within half a minute nothing larger than it carries is sent.
        #[test]
        fn no_black_hole_lasts(paths in prop::collection::vec((FLOOR..9_000_usize, 0..90_u64), 1..6)) {
            let mut world = World::new(9_000, 9_000);
            for (carries, seconds) in paths {
                world.carries = carries;
                world.run(Duration::from_secs(30));
                prop_assert!(world.path.size() <= carries, "{} of {carries}", world.path.size());
                world.run(Duration::from_secs(seconds));
                prop_assert!(world.path.size() <= carries);
            }
        }
    }
}
