//! Datagram packetization layer path MTU discovery (RFC 8899), without I/O, for a sender whose peer
//! acknowledges only probes.
//!
//! A probe is a message of the size that is tried, and the peer acknowledges it. After three probes without
//! an acknowledgement the path counts as too small. Sizes are sizes of datagrams: of a message with the
//! headers of the layers below.
//!
//! ```text
//!          a probe of the         no larger size
//!          size was acked         is left to try
//!   Base --------------> Searching --------------> Complete
//!    ^                     |    ^                    |  |
//!    |                     |    +--------------------+  |
//!    |                     |      ten minutes later     |
//!    +---------------------+----------------------------+
//!      three probes of the size in use were lost: a smaller size, down to the floor
//! ```

use std::time::Duration;

/// The size that nearly all paths carry, in use until a probe has shown a larger size (`BASE_PLPMTU`).
pub(super) const BASE: usize = 1_200;

/// The size in use where not even [`BASE`] arrives (`MIN_PLPMTU`, the minimum of IPv4 with space for
/// headers).
pub(super) const FLOOR: usize = 512;

/// The number of probes of a size (`MAX_PROBES`).
const ATTEMPTS: u32 = 3;

/// The time-out of a probe (`PROBE_TIMER`, of which this is the minimum).
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

/// Interval at which the size in use is confirmed while messages are sent (`CONFIRMATION_TIMER`). Messages
/// that the path no longer carries are lost for this time, and for the time-outs of the probes.
const CONFIRM_AFTER: Duration = Duration::from_secs(15);

/// The time after which larger sizes are tried again (`PMTU_RAISE_TIMER`).
const RAISE_AFTER: Duration = Duration::from_secs(600);

/// Sizes that many links carry, less the headers of IP and UDP: the IPv6 minimum, Ethernet below a tunnel, Ethernet with IPv6
/// and IPv4, and jumbo frames. They are tried first, from the smallest on.
const COMMON: [usize; 5] = [1_232, 1_392, 1_452, 1_472, 8_952];

/// The precision of a search: it ends when the possible gain is less than this part of the size, as a power
/// of two.
const PRECISION: u32 = 5;

/// The knowledge of an end about the path in its direction.
#[derive(Debug)]
pub(super) struct Path {
    /// The largest size that the path is known to carry.
    size: usize,
    /// The smallest size that the path is known not to carry; `end` if there is none.
    too_large: usize,
    /// The size after the largest useful size.
    end: usize,
    phase: Phase,
    probe: Option<Probe>,
    /// The number of the next probe: random at first, so that late acknowledgements of an earlier connection match none.
    next: u32,
    /// The times at which to confirm the size and to try larger sizes.
    confirm_at: Duration,
    raise_at: Duration,
    /// True if a message larger than the floor was sent since the size was confirmed.
    is_used: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The base has to be confirmed.
    Base,
    /// Larger sizes are tried.
    Searching,
    /// No larger size is left to try for now.
    Complete,
}

/// A probe in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Probe {
    pub(super) number: u32,
    pub(super) size: usize,
    attempt: u32,
    due: Duration,
}

impl Path {
    /// Makes a path on which sizes up to `max` are useful. `seed` is the number of the first probe.
    pub(super) fn new(max: usize, seed: u32) -> Self {
        Self {
            size: BASE.min(max),
            too_large: max + 1,
            end: max + 1,
            phase: Phase::Base,
            probe: None,
            next: seed,
            confirm_at: Duration::ZERO,
            raise_at: Duration::MAX,
            is_used: false,
        }
    }

    /// Returns the size of the largest message to send.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Records that messages larger than the floor were sent since the last call.
    pub(super) fn on_use(&mut self) {
        self.is_used = true;
    }

    /// Returns the probe to send now, if any. Unless `is_receiving` is true no acknowledgement is handled, so
    /// the time-out of a probe begins anew.
    pub(super) fn poll(&mut self, now: Duration, is_receiving: bool) -> Option<Probe> {
        if let Some(probe) = &mut self.probe {
            if now < probe.due {
                return None;
            }
            if !is_receiving {
                probe.due = now + PROBE_TIMEOUT;
                return None;
            }
            let Probe { size, attempt, .. } = *probe;
            self.probe = None;
            if attempt < ATTEMPTS {
                return self.send(size, attempt + 1, now);
            }
            self.on_loss(size, now);
        }
        let size = self.due_size(now)?;
        self.send(size, 1, now)
    }

    /// Returns the time for the next call of [`poll`](Self::poll); an acknowledgement may bring it forward.
    pub(super) fn timeout(&self) -> Duration {
        match (&self.probe, self.phase) {
            (Some(probe), _) => probe.due,
            (None, Phase::Complete) => self.raise_at.min(self.confirm_at),
            (None, _) => Duration::ZERO,
        }
    }

    /// Returns the size to probe now, if any.
    fn due_size(&mut self, now: Duration) -> Option<usize> {
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

    /// Returns the next larger size that is worth a probe.
    fn candidate(&self) -> Option<usize> {
        let common = COMMON.into_iter().find(|&size| size > self.size && size < self.too_large);
        let left = self.too_large - self.size - 1;
        match common {
            Some(size) => Some(size),
            // The largest size is tried at once, where no size has failed yet.
            None if left > 0 && self.too_large == self.end => Some(self.end - 1),
            None if left > self.size >> PRECISION => Some(self.size + left.div_ceil(2)),
            None => None,
        }
    }

    fn send(&mut self, size: usize, attempt: u32, now: Duration) -> Option<Probe> {
        let probe = Probe { number: self.next, size, attempt, due: now + PROBE_TIMEOUT };
        self.next = self.next.wrapping_add(1);
        self.probe = Some(probe);
        self.probe
    }

    /// Handles the acknowledgement of a probe. Any acknowledgement but that of the probe in flight is late or
    /// forged.
    pub(super) fn on_ack(&mut self, number: u32, now: Duration) {
        let Some(probe) = self.probe.take_if(|probe| probe.number == number) else { return };
        self.size = self.size.max(probe.size);
        self.confirm_at = now + CONFIRM_AFTER;
        self.is_used = false;
        if self.phase == Phase::Base {
            self.phase = Phase::Searching;
        }
    }

    /// Handles the refusal of a probe as too large by the connection below.
    pub(super) fn on_too_large(&mut self, number: u32, now: Duration) {
        if let Some(probe) = self.probe.take_if(|probe| probe.number == number) {
            self.on_loss(probe.size, now);
        }
    }

    fn on_loss(&mut self, size: usize, now: Duration) {
        if size > self.size {
            self.too_large = self.too_large.min(size);
            return;
        }
        // The size in use is lost (a black hole, section 4.3). The size falls to the base, or to the floor,
        // and has to be confirmed before a larger size is tried. If not even the floor arrives, the size is
        // not the reason.
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

    /// A path that carries `carries` bytes, over which a probe is acknowledged after [`TRIP`].
    struct World {
        path: Path,
        now: Duration,
        carries: usize,
        probes: u32,
    }

    const TRIP: Duration = Duration::from_millis(40);

    impl World {
        fn new(max: usize, carries: usize) -> Self {
            Self { path: Path::new(max, u32::MAX), now: Duration::ZERO, carries, probes: 0 }
        }

        /// Runs for `time` while the application sends messages of the size in use.
        fn run(&mut self, time: Duration) {
            let end = self.now + time;
            let mut ack = None;
            while self.now < end {
                self.path.on_use();
                if let Some((number, _)) = ack.take_if(|(_, at)| *at <= self.now) {
                    self.path.on_ack(number, self.now);
                }
                if let Some(probe) = self.path.poll(self.now, true) {
                    self.probes += 1;
                    ack = (probe.size <= self.carries).then_some((probe.number, self.now + TRIP));
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
        world.run(CONFIRM_AFTER + ATTEMPTS * PROBE_TIMEOUT + TRIP * 2);
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

    /// A time in which no message arrives says nothing about sizes.
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
            path.on_ack(probe.number, now);
        }
        now += RAISE_AFTER / 2;
        assert_eq!((path.poll(now, true), path.size()), (None, 1_472));
        path.on_use();
        now += CONFIRM_AFTER;
        assert!(path.poll(now, true).is_some_and(|probe| probe.size == 1_472));
    }

    /// Acknowledgements are handled in `recv`, so without a `recv` their absence means nothing.
    #[test]
    fn missing_acknowledgements_count_only_during_recv() {
        let mut path = Path::new(1_472, 7);
        let first = path.poll(Duration::ZERO, false).unwrap();
        for second in 1..100 {
            assert_eq!(path.poll(Duration::from_secs(second), false), None);
        }
        path.on_ack(first.number, Duration::from_secs(100));
        assert_eq!(path.size(), BASE);
        assert!(path.poll(Duration::from_secs(100), true).is_some_and(|probe| probe.size > BASE));
    }

    #[test]
    fn acknowledgements_of_other_probes_change_nothing() {
        let mut path = Path::new(9_000, 7);
        let probe = path.poll(Duration::ZERO, true).unwrap();
        path.on_ack(probe.number.wrapping_add(1), Duration::ZERO);
        path.on_too_large(probe.number.wrapping_sub(1), Duration::ZERO);
        assert_eq!(path.poll(Duration::ZERO, true), None);
        path.on_ack(probe.number, Duration::ZERO);
        path.on_ack(probe.number, Duration::ZERO);
        for size in [1_232, 1_392] {
            let probe = path.poll(Duration::ZERO, true).unwrap();
            assert_eq!(probe.size, size);
            path.on_ack(probe.number, Duration::ZERO);
        }
        let larger = path.poll(Duration::ZERO, true).unwrap();
        path.on_too_large(larger.number, Duration::ZERO);
        let next = path.poll(Duration::ZERO, true).unwrap();
        assert!(next.size > 1_392 && next.size < larger.size, "{} after {}", next.size, larger.size);
    }

    /// Returns the last moment before `time`.
    fn before(time: Duration) -> Duration {
        time - Duration::from_nanos(1)
    }

    /// Answers probes at once until none is sent, and returns their sizes.
    fn search(path: &mut Path, carries: usize, now: Duration) -> Vec<usize> {
        let mut sizes = Vec::new();
        while let Some(probe) = path.poll(now, true).filter(|_| sizes.len() < 50) {
            sizes.push(probe.size);
            match probe.size <= carries {
                true => path.on_ack(probe.number, now),
                false => path.on_too_large(probe.number, now),
            }
        }
        sizes
    }

    #[test]
    fn a_size_is_tried_three_times_and_then_falls_to_the_floor() {
        for (max, floor) in [(1_472, FLOOR), (500, 500)] {
            let (mut path, mut now) = (Path::new(max, 7), Duration::from_secs(100));
            for number in 7..10 {
                let probe = path.poll(now, true).unwrap();
                assert_eq!((probe.number, probe.size), (number, BASE.min(max)));
                assert_eq!(path.timeout(), now + PROBE_TIMEOUT);
                now += PROBE_TIMEOUT;
                assert_eq!(path.poll(before(now), true), None);
            }
            // Without a `recv` the time-out begins anew.
            assert_eq!(path.poll(now, false), None);
            assert_eq!((path.timeout(), path.poll(now, true)), (now + PROBE_TIMEOUT, None));
            now += PROBE_TIMEOUT;
            assert_eq!(path.poll(now, true).map(|probe| probe.size), Some(floor));
            assert_eq!(path.size(), floor);
        }
    }

    #[test]
    fn a_size_that_is_lost_after_a_larger_one_was_found_falls_to_the_base() {
        let mut path = Path::new(9_000, 7);
        search(&mut path, 1_472, Duration::ZERO);
        let mut now = CONFIRM_AFTER;
        path.on_use();
        for _ in 0..ATTEMPTS {
            assert_eq!(path.poll(now, true).map(|probe| probe.size), Some(1_472));
            now += PROBE_TIMEOUT;
        }
        assert_eq!(path.poll(now, true).map(|probe| probe.size), Some(BASE));
        let probe = path.probe.unwrap();
        path.on_ack(probe.number, now);
        assert_eq!(search(&mut path, 1_392, now), [1_232, 1_392, 1_452, 1_422]);
    }

    #[test]
    fn a_base_that_is_lost_is_not_tried_again_and_neither_is_a_larger_size() {
        let (mut path, mut now) = (Path::new(9_000, 7), Duration::ZERO);
        for _ in 0..ATTEMPTS {
            assert_eq!(path.poll(now, true).map(|probe| probe.size), Some(BASE));
            now += PROBE_TIMEOUT;
        }
        let tried = search(&mut path, 800, now);
        assert!(tried.iter().all(|size| *size < BASE), "{tried:?}");
    }

    #[test]
    fn common_sizes_come_first_and_then_halves_of_what_is_left() {
        let sizes = [1_200, 1_232, 1_392, 1_452, 1_472];
        assert_eq!(search(&mut Path::new(1_472, 7), 1_472, Duration::ZERO), sizes);
        // No more than a 32nd is left to gain.
        let last = search(&mut Path::new(1_519, 7), 1_472, Duration::ZERO);
        assert_eq!(last, [&sizes[..], &[1_519]].concat());
        let last = search(&mut Path::new(1_520, 7), 1_472, Duration::ZERO);
        assert_eq!(last, [&sizes[..], &[1_520, 1_496]].concat());
        let halves = [8_952, 5_212, 3_342, 2_407, 1_939, 1_705, 1_588, 1_530, 1_501];
        assert_eq!(search(&mut Path::new(9_000, 7), 1_472, Duration::ZERO), [&sizes[..], &halves].concat());
    }

    #[test]
    fn a_size_in_use_is_confirmed_and_larger_sizes_are_tried_at_their_times() {
        let mut path = Path::new(9_000, 7);
        assert_eq!(path.timeout(), Duration::ZERO);
        let start = Duration::from_secs(5);
        search(&mut path, 1_472, start);
        let mut due = start + CONFIRM_AFTER;
        assert_eq!(path.timeout(), due);
        for is_used in [true, false, true, false] {
            assert_eq!(path.poll(before(due), true), None);
            if is_used {
                path.on_use();
            }
            let probe = path.poll(due, true);
            assert_eq!(probe.map(|probe| probe.size), is_used.then_some(1_472));
            if let Some(probe) = probe {
                path.on_use();
                path.on_ack(probe.number, due);
            }
            due += CONFIRM_AFTER;
            assert_eq!(path.timeout(), due);
        }
        let raise = start + RAISE_AFTER;
        assert_eq!(path.poll(before(raise), true), None);
        assert_eq!(path.timeout(), raise);
        assert_eq!(path.poll(raise, true).map(|probe| probe.size), Some(8_952));
    }

    proptest! {
        /// A search ends just below the MTU of the path, and is short.
        #[test]
        fn a_search_ends_close_below_what_the_path_carries(max in FLOOR..65_000_usize, carries in FLOOR..65_000_usize) {
            let mut world = World::new(max, carries);
            world.run(Duration::from_secs(80));
            let (size, best) = (world.path.size(), max.min(carries));
            prop_assert!(size <= best);
            prop_assert!(best - size <= (size >> PRECISION) + 1, "{size} of {best}");
            prop_assert!(world.probes <= 60, "{} probes", world.probes);
        }

        /// A path that changes at any time: within half a minute no larger message than it carries is sent.
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
