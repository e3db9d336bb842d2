//! Handshakes under way, of which none keeps a newcomer out.

use super::patience::Patience;
use super::progress::Progress;
use crate::connections::QUOTA;
use bertha_core::Network;
use std::collections::{BTreeSet, HashMap};
use std::time::{Duration, Instant};

/// A bounded number of handshakes. When all places are taken, a newcomer takes the place of the handshake
/// that has waited longest for its peer.
pub(super) struct Handshakes<T> {
    held: HashMap<u64, Held<T>>,
    /// The handshakes by the time at which the peer of each was heard. The entry of a handshake that has
    /// heard its peer since is corrected when the entry is read.
    order: BTreeSet<Waiting>,
    by_network: HashMap<Network, BTreeSet<Waiting>>,
    max: usize,
    patience: Patience,
}

/// The time since which a handshake waits, and its number.
type Waiting = (Instant, u64);

/// A handshake.
pub(super) struct Held<T> {
    network: Option<Network>,
    began: Instant,
    pub(super) progress: Progress,
    /// The time since which it waits, according to its entries.
    waits_since: Instant,
    /// The handshake itself.
    pub(super) work: T,
}

/// The state of the places for a further handshake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Room {
    Free,
    /// The handshake with this number has to make room.
    InPlaceOf(u64),
    /// No handshake has to make room before this time.
    From(Instant),
}

impl<T> Handshakes<T> {
    /// Makes a table of at most `max` handshakes, and at least one. Each may wait for its peer for
    /// `patience`, or for less once such waiting was in vain.
    pub(super) fn new(max: usize, patience: Duration) -> Self {
        Self {
            held: HashMap::new(),
            order: BTreeSet::new(),
            by_network: HashMap::new(),
            max: max.max(1),
            patience: Patience::new(patience),
        }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Looks for room for a handshake from this network.
    ///
    /// The handshake that has waited longest for its peer makes room, if it has waited for long enough. If
    /// none has, a handshake of the network with the most handshakes makes room, if that network has more
    /// than a quarter of all handshakes and is not the newcomer's. So a network whose handshakes all make
    /// progress takes no more than its share.
    pub(super) fn room(&mut self, newcomer: Option<Network>, now: Instant) -> Room {
        if self.held.len() < self.max {
            if self.held.len() < self.max / 2 {
                self.patience.rested();
            }
            return Room::Free;
        }
        let Some((since, longest)) = self.longest_waiting(None) else { return Room::Free };
        let until = since + self.patience.limit(now);
        if until <= now {
            self.patience.in_vain();
            return Room::InPlaceOf(longest);
        }
        let largest = self.by_network.iter().max_by_key(|(_, held)| held.len());
        let largest = largest.filter(|(_, held)| held.len() > self.max / QUOTA).map(|(network, _)| *network);
        if let Some(largest) = largest
            && newcomer != Some(largest)
            && let Some((_, number)) = self.longest_waiting(Some(largest))
        {
            return Room::InPlaceOf(number);
        }
        self.patience.pressed(now);
        Room::From(until)
    }

    /// Returns the handshake that has waited longest for its peer, of a network or of all networks.
    pub(super) fn longest_waiting(&mut self, of: Option<Network>) -> Option<Waiting> {
        loop {
            let first = match &of {
                Some(network) => self.by_network.get(network)?.first(),
                None => self.order.first(),
            };
            let &(since, number) = first?;
            let heard = self.held.get(&number)?.progress.heard_at();
            if heard <= since {
                return Some((since, number));
            }
            self.leave_order(number);
            self.enter_order(number, heard);
        }
    }

    /// Adds a handshake, for which there is room, and whose `progress` begins `now`.
    pub(super) fn insert(&mut self, number: u64, network: Option<Network>, progress: Progress, work: T) {
        let began = progress.heard_at();
        self.held.insert(number, Held { network, began, progress, waits_since: began, work });
        self.enter_order(number, began);
    }

    /// Removes a handshake that makes room.
    pub(super) fn remove(&mut self, number: u64) -> Option<Held<T>> {
        self.leave_order(number);
        self.held.remove(&number)
    }

    /// Removes a handshake whose peer has done its part. Returns false if there was no such handshake.
    pub(super) fn finish(&mut self, number: u64, now: Instant) -> bool {
        let Some(held) = self.remove(number) else { return false };
        self.patience.finished(now.saturating_duration_since(held.began));
        true
    }

    fn enter_order(&mut self, number: u64, since: Instant) {
        let Some(held) = self.held.get_mut(&number) else { return };
        held.waits_since = since;
        self.order.insert((since, number));
        if let Some(network) = held.network {
            self.by_network.entry(network).or_default().insert((since, number));
        }
    }

    fn leave_order(&mut self, number: u64) {
        let Some(held) = self.held.get(&number) else { return };
        let entry = (held.waits_since, number);
        self.order.remove(&entry);
        if let Some(network) = held.network
            && let Some(entries) = self.by_network.get_mut(&network)
        {
            entries.remove(&entry);
            if entries.is_empty() {
                self.by_network.remove(&network);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Addr;

    const PATIENCE: Duration = Duration::from_secs(1);

    fn network(number: usize) -> Option<Network> {
        Network::of(&Addr::from(([10, 0, number as u8, 1], 1)))
    }

    fn millis(count: u64) -> Duration {
        Duration::from_millis(count)
    }

    /// Eight places, and handshakes that get their numbers in order.
    struct Scene {
        handshakes: Handshakes<()>,
        progress: Vec<Progress>,
        start: Instant,
    }

    impl Scene {
        fn new() -> Self {
            let handshakes = Handshakes::new(8, PATIENCE);
            Self { handshakes, progress: Vec::new(), start: Instant::now() }
        }

        /// A newcomer from this network, which takes the place that it finds.
        fn come(&mut self, from: usize, after: Duration) -> Room {
            let now = self.start + after;
            let room = self.handshakes.room(network(from), now);
            match room {
                Room::From(_) => return room,
                Room::InPlaceOf(number) => drop(self.handshakes.remove(number)),
                Room::Free => {}
            }
            let progress = Progress::new(now);
            self.handshakes.insert(self.progress.len() as u64, network(from), progress.clone(), ());
            self.progress.push(progress);
            room
        }

        fn living(&self) -> Vec<u64> {
            let mut living: Vec<_> = self.handshakes.held.keys().copied().collect();
            living.sort_unstable();
            living
        }
    }

    #[test]
    fn the_one_that_waits_longest_for_its_peer_goes_and_not_the_oldest() {
        let mut scene = Scene::new();
        for number in 0..8 {
            assert_eq!(scene.come(number, millis(number as u64)), Room::Free);
        }
        // The first three hear their peers, the second last.
        for (number, at) in [(0, 900), (1, 1000), (2, 950)] {
            scene.progress[number].heard(scene.start + millis(at));
        }
        let evicted: Vec<_> =
            (8..16).map(|number| scene.come(number, PATIENCE + millis(900 + number as u64))).collect();
        assert_eq!(evicted, [3, 4, 5, 6, 7, 0, 2, 1].map(Room::InPlaceOf));
        assert_eq!(scene.living(), Vec::from_iter(8..16));
        assert_eq!(scene.handshakes.by_network.len(), 8);
    }

    #[test]
    fn a_newcomer_waits_as_long_as_all_may_make_progress() {
        let mut scene = Scene::new();
        for _ in 0..8 {
            assert_eq!(scene.come(1, Duration::ZERO), Room::Free);
        }
        assert_eq!(scene.come(1, millis(500)), Room::From(scene.start + PATIENCE));
        scene.progress[0].heard(scene.start + millis(600));
        assert_eq!(scene.come(1, PATIENCE), Room::InPlaceOf(1));
        assert_eq!(scene.handshakes.len(), 8);
    }

    #[test]
    fn a_network_that_has_more_than_its_part_gives_at_once_to_others() {
        let mut scene = Scene::new();
        for number in 0..8 {
            assert_eq!(scene.come(usize::from(number > 1), Duration::ZERO), Room::Free);
        }
        assert_eq!(scene.come(2, millis(1)), Room::InPlaceOf(2));
        assert_eq!(scene.come(0, millis(1)), Room::InPlaceOf(3));
        assert!(matches!(scene.come(1, millis(1)), Room::From(_)));
    }

    #[test]
    fn what_is_over_leaves_its_place() {
        let mut scene = Scene::new();
        for number in 0..100 {
            assert_eq!(scene.come(1, millis(number)), Room::Free);
            assert!(scene.handshakes.finish(number, scene.start));
            assert!(scene.handshakes.remove(number).is_none());
        }
        assert!(scene.living().is_empty() && scene.handshakes.order.is_empty());
        assert!(scene.handshakes.by_network.is_empty());
    }
}
