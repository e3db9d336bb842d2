//! Handshakes under way, of which none keeps another out.

use crate::handshake::Network;
use bertha_core::{Base, BoxFuture, Connection, Runtime};
use futures_util::StreamExt;
use futures_util::future::{AbortHandle, Abortable, abortable};
use futures_util::stream::FuturesUnordered;
use std::collections::{BTreeMap, HashMap};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

/// A network that holds more than this part of the places gives them to others.
const QUOTA: usize = 4;

/// A bounded number of handshakes. When it is full, a further one takes the place of the oldest: of the network that has the
/// most, if that is more than a quarter; else of all.
pub(super) struct Handshakes<T> {
    running: FuturesUnordered<Abortable<BoxFuture<'static, (u64, T)>>>,
    /// Those that were not given up, by their numbers, of which the oldest has the lowest.
    held: BTreeMap<u64, Held>,
    counts: HashMap<Network, usize>,
    next: u64,
    max: usize,
    min_age: Duration,
}

/// Where and when a stage of a handshake began.
pub(super) struct Beginning {
    network: Option<Network>,
    at: Instant,
}

impl Beginning {
    /// Now, with the peer of `base`.
    pub(super) fn on(base: &impl Connection) -> Self {
        let base = base.base();
        Self { network: Network::of(&base.peer_addr()), at: base.runtime().now() }
    }
}

struct Held {
    network: Option<Network>,
    since: Instant,
    abort: AbortHandle,
}

/// The price of a further handshake.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Place {
    Free,
    /// Another one was given up for it.
    Taken,
    /// There is none, so it is given up itself.
    None,
}

impl<T: 'static> Handshakes<T> {
    /// At most `max` of them, one at least. None is given up for a neighbour in its network, or for others if its network has
    /// no more than its quota, until it is `min_age` old: a handshake that makes progress shall come to its end.
    pub(super) fn new(max: usize, min_age: Duration) -> Self {
        Self {
            running: FuturesUnordered::new(),
            held: BTreeMap::new(),
            counts: HashMap::new(),
            next: 0,
            max: max.max(1),
            min_age,
        }
    }

    pub(super) fn len(&self) -> usize {
        self.held.len()
    }

    /// Adds a handshake that began there.
    pub(super) fn push(&mut self, beginning: Beginning, handshake: BoxFuture<'static, T>) -> Place {
        let Beginning { network, at: since } = beginning;
        let mut place = Place::Free;
        if self.held.len() >= self.max {
            let Some(evicted) = self.evictable(network, since) else { return Place::None };
            if let Some(evicted) = self.remove(evicted) {
                // Its memory is free once the others are polled.
                evicted.abort.abort();
            }
            place = Place::Taken;
        }
        let number = self.next;
        self.next += 1;
        let (running, abort) =
            abortable(Box::pin(async move { (number, handshake.await) }) as BoxFuture<'_, _>);
        self.running.push(running);
        self.held.insert(number, Held { network, since, abort });
        if let Some(network) = network {
            *self.counts.entry(network).or_default() += 1;
        }
        place
    }

    /// The handshake that gives its place to one of this network.
    fn evictable(&self, network: Option<Network>, now: Instant) -> Option<u64> {
        let largest = self.counts.iter().max_by_key(|(_, count)| **count);
        let largest = largest.filter(|(_, count)| **count > self.max / QUOTA).map(|(network, _)| *network);
        let mut places = self.held.iter().filter(|(_, held)| largest.is_none() || held.network == largest);
        let (number, oldest) = places.next()?;
        let is_foreign = largest.is_some() && largest != network;
        (is_foreign || now.saturating_duration_since(oldest.since) >= self.min_age).then_some(*number)
    }

    fn remove(&mut self, number: u64) -> Option<Held> {
        let held = self.held.remove(&number)?;
        if let Some(network) = held.network
            && let Some(count) = self.counts.get_mut(&network)
        {
            *count -= 1;
            if *count == 0 {
                self.counts.remove(&network);
            }
        }
        Some(held)
    }

    /// The result of a handshake that is over and was not given up.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<T> {
        while let Poll::Ready(Some(ended)) = self.running.poll_next_unpin(cx) {
            if let Ok((number, outcome)) = ended
                && self.remove(number).is_some()
            {
                return Poll::Ready(outcome);
            }
        }
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Addr;
    use futures_util::future::{pending, ready};
    use std::sync::Arc;

    fn network(number: usize) -> Option<Network> {
        Network::of(&Addr::from(([10, 0, number as u8, 1], 1)))
    }

    fn poll<T: 'static>(handshakes: &mut Handshakes<T>) -> Poll<T> {
        handshakes.poll_next(&mut Context::from_waker(std::task::Waker::noop()))
    }

    /// Handshakes that do not end, with a sign of the life of each.
    struct Stuck {
        handshakes: Handshakes<()>,
        alive: Vec<Arc<()>>,
        start: Instant,
    }

    impl Stuck {
        fn new(min_age: Duration) -> Self {
            Self { handshakes: Handshakes::new(8, min_age), alive: Vec::new(), start: Instant::now() }
        }

        fn push(&mut self, from: usize, after: Duration) -> Place {
            let alive = Arc::new(());
            self.alive.push(alive.clone());
            let stuck = async move {
                pending::<()>().await;
                drop(alive);
            };
            let beginning = Beginning { network: network(from), at: self.start + after };
            let place = self.handshakes.push(beginning, Box::pin(stuck));
            assert!(poll(&mut self.handshakes).is_pending());
            place
        }

        fn living(&self) -> Vec<usize> {
            (0..self.alive.len()).filter(|number| Arc::strong_count(&self.alive[*number]) > 1).collect()
        }
    }

    #[test]
    fn the_oldest_of_the_largest_network_goes() {
        let mut stuck = Stuck::new(Duration::ZERO);
        // Two of a network that has its part, then six of one that has more.
        for number in 0..8 {
            assert_eq!(stuck.push(usize::from(number > 1), Duration::ZERO), Place::Free);
        }
        for _ in 0..3 {
            assert_eq!(stuck.push(1, Duration::ZERO), Place::Taken);
        }
        assert_eq!(stuck.living(), [0, 1, 5, 6, 7, 8, 9, 10]);
        assert_eq!(stuck.push(2, Duration::ZERO), Place::Taken);
        assert_eq!(stuck.living(), [0, 1, 6, 7, 8, 9, 10, 11]);
        assert_eq!(stuck.handshakes.len(), 8);
    }

    #[test]
    fn among_many_networks_the_oldest_goes() {
        let mut stuck = Stuck::new(Duration::ZERO);
        for number in 0..20 {
            stuck.push(number, Duration::ZERO);
        }
        assert_eq!(stuck.living(), Vec::from_iter(12..20));
    }

    #[test]
    fn a_young_one_keeps_its_place_from_its_neighbours() {
        let second = Duration::from_secs(1);
        let mut stuck = Stuck::new(second);
        for _ in 0..8 {
            assert_eq!(stuck.push(1, Duration::ZERO), Place::Free);
        }
        assert_eq!(stuck.push(1, second / 2), Place::None);
        // Not from others, since its network has all.
        assert_eq!(stuck.push(2, second / 2), Place::Taken);
        assert_eq!(stuck.push(1, second), Place::Taken);
        assert_eq!(stuck.living(), [2, 3, 4, 5, 6, 7, 9, 10]);
    }

    #[test]
    fn what_is_over_leaves_its_place() {
        let mut handshakes = Handshakes::new(2, Duration::ZERO);
        for number in 0..10 {
            let beginning = Beginning { network: network(1), at: Instant::now() };
            assert_eq!(handshakes.push(beginning, Box::pin(ready(number))), Place::Free);
            assert_eq!(poll(&mut handshakes), Poll::Ready(number));
            assert_eq!((handshakes.len(), handshakes.counts.len()), (0, 0));
        }
    }
}
