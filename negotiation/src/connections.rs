//! The connections that a server has made, of which there is a bounded number.

use crate::link::Evictable;
use bertha_core::Network;
use parking_lot::{Mutex, MutexGuard};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

/// A network that holds more than this part of the places gives them to others.
pub(crate) const QUOTA: usize = 4;

/// A connection of whose peer nothing has come for so long is unused, and may be given up for others.
const UNUSED: Duration = Duration::from_secs(1);

/// The connections of a network that are looked at for one that is unused. The next call looks at the next ones.
const LOOKS: usize = 64;

/// The connections of a server.
#[derive(Clone)]
pub(crate) struct Connections(Arc<Mutex<HeldConnections>>);

struct HeldConnections {
    by_number: BTreeMap<u64, Entry>,
    by_network: HashMap<Option<Network>, BTreeSet<u64>>,
    next: u64,
    max: usize,
    /// The number at which the next look begins.
    cursor: u64,
}

struct Entry {
    connection: Weak<dyn Evictable>,
    network: Option<Network>,
    /// The peer's messages when the connection was looked at, and when that was first the number.
    arrivals: u32,
    since: Instant,
}

/// A connection's place among those of its server, until it is dropped.
pub(crate) struct ConnectionPlace {
    connections: Connections,
    number: u64,
}

/// The room for a further connection of a server.
pub(crate) enum Room {
    Free,
    /// This one has to go.
    InPlaceOf(Arc<dyn Evictable>),
    None,
}

impl Connections {
    /// Makes room for at most `max` connections, and for at least one.
    pub(crate) fn new(max: usize) -> Self {
        let held = HeldConnections {
            by_number: BTreeMap::new(),
            by_network: HashMap::new(),
            next: 0,
            max: max.max(1),
            cursor: 0,
        };
        Self(Arc::new(Mutex::new(held)))
    }

    /// Returns the number of connections.
    pub(crate) fn count(&self) -> usize {
        self.held().by_number.len()
    }

    /// Adds a connection. There may be a few more than the maximum, whose agreements were made at the same time.
    pub(crate) fn add(
        &self,
        network: Option<Network>,
        connection: Weak<dyn Evictable>,
        now: Instant,
    ) -> ConnectionPlace {
        let mut held = self.held();
        let number = held.next;
        held.next += 1;
        held.by_number.insert(number, Entry { connection, network, arrivals: 0, since: now });
        held.by_network.entry(network).or_default().insert(number);
        ConnectionPlace { connections: self.clone(), number }
    }

    /// Looks for room for a connection from this network. Beyond the maximum an unused connection of the largest network goes, if that
    /// has more than a quarter and is not the newcomer's.
    pub(crate) fn room(&self, newcomer: Option<Network>, now: Instant) -> Room {
        let mut held = self.held();
        if held.by_number.len() < held.max {
            return Room::Free;
        }
        let least = held.max / QUOTA;
        let Some((largest, count)) = held.largest() else { return Room::Free };
        if count <= least || largest == newcomer {
            return Room::None;
        }
        held.take_unused(largest, now).map_or(Room::None, Room::InPlaceOf)
    }

    /// Takes an unused connection of the largest network out, if it has one.
    pub(crate) fn take_unused(&self, now: Instant) -> Option<Arc<dyn Evictable>> {
        let mut held = self.held();
        let (largest, _) = held.largest()?;
        held.take_unused(largest, now)
    }

    fn held(&self) -> MutexGuard<'_, HeldConnections> {
        self.0.lock()
    }
}

impl HeldConnections {
    /// The network with most connections, and their number.
    fn largest(&self) -> Option<(Option<Network>, usize)> {
        self.by_network
            .iter()
            .map(|(network, numbers)| (*network, numbers.len()))
            .max_by_key(|(_, count)| *count)
    }

    fn take_unused(&mut self, of: Option<Network>, now: Instant) -> Option<Arc<dyn Evictable>> {
        let numbers = self.by_network.get(&of)?;
        let in_turn = numbers.range(self.cursor..).chain(numbers.range(..self.cursor));
        let mut longest: Option<(Instant, u64, Arc<dyn Evictable>)> = None;
        let mut last = self.cursor;
        for &number in in_turn.take(LOOKS) {
            last = number;
            let Some(entry) = self.by_number.get_mut(&number) else { continue };
            let Some(connection) = entry.connection.upgrade() else { continue };
            let arrivals = connection.arrivals();
            if arrivals != entry.arrivals {
                entry.arrivals = arrivals;
                entry.since = now;
            }
            let is_longer = longest.as_ref().is_none_or(|(since, ..)| entry.since < *since);
            if is_longer && now.saturating_duration_since(entry.since) >= UNUSED {
                longest = Some((entry.since, number, connection));
            }
        }
        self.cursor = last + 1;
        let (_, number, connection) = longest?;
        self.remove(number);
        Some(connection)
    }

    fn remove(&mut self, number: u64) {
        let Some(entry) = self.by_number.remove(&number) else { return };
        if let Some(numbers) = self.by_network.get_mut(&entry.network) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.by_network.remove(&entry.network);
            }
        }
    }
}

impl Drop for ConnectionPlace {
    fn drop(&mut self) {
        self.connections.held().remove(self.number);
    }
}

impl fmt::Debug for ConnectionPlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("ConnectionPlace").field(&self.number).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bertha_core::Addr;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[derive(Default)]
    struct Client(AtomicU32);

    impl Evictable for Client {
        fn arrivals(&self) -> u32 {
            self.0.load(Ordering::Relaxed)
        }

        fn evict(&self, _: &str) {}
    }

    fn network(number: u8) -> Option<Network> {
        Network::of(&Addr::from(([10, 0, number, 1], 1)))
    }

    /// Connections from these networks, made at `start`.
    fn connect(
        connections: &Connections,
        from: &[u8],
        start: Instant,
    ) -> Vec<(Arc<Client>, ConnectionPlace)> {
        let client = |from: &u8| {
            let client = Arc::<Client>::default();
            let established: Arc<dyn Evictable> = client.clone();
            let place = connections.add(network(*from), Arc::downgrade(&established), start);
            (client, place)
        };
        from.iter().map(client).collect()
    }

    fn is(connection: &Arc<dyn Evictable>, client: &Arc<Client>) -> bool {
        std::ptr::addr_eq(Arc::as_ptr(connection), Arc::as_ptr(client))
    }

    #[test]
    fn places_come_back_with_connections() {
        let (connections, start) = (Connections::new(4), Instant::now());
        let mut clients = connect(&connections, &[1, 1, 1, 1], start);
        assert!(matches!(connections.room(network(1), start), Room::None));
        clients.pop();
        assert!(matches!(connections.room(network(1), start), Room::Free));
        drop(clients);
        let held = connections.held();
        assert!(held.by_number.is_empty() && held.by_network.is_empty());
    }

    #[test]
    fn the_largest_network_gives_what_it_uses_least_to_others() {
        let (connections, start) = (Connections::new(8), Instant::now());
        let clients = connect(&connections, &[1, 2, 1, 1, 1, 2, 1, 1], start);
        let early = start + UNUSED / 2;
        assert!(matches!(connections.room(network(3), early), Room::None), "none is unused so soon");
        clients.iter().filter(|(_, place)| place.number != 3).for_each(|(client, _)| {
            client.0.fetch_add(1, Ordering::Relaxed);
        });
        let late = start + 2 * UNUSED;
        let Room::InPlaceOf(first) = connections.room(network(3), late) else { panic!("one goes") };
        assert!(is(&first, &clients[3].0));
        assert!(matches!(connections.room(network(1), late), Room::Free));
        // All others were heard of meanwhile.
        assert!(connections.take_unused(late).is_none());
        assert!(connections.take_unused(late + UNUSED).is_some());
    }

    #[test]
    fn networks_with_no_more_than_their_part_give_nothing() {
        let (connections, start) = (Connections::new(8), Instant::now());
        let _clients = connect(&connections, &[1, 1, 2, 2, 3, 3, 4, 4], start);
        assert!(matches!(connections.room(network(5), start + 2 * UNUSED), Room::None));
    }
}
