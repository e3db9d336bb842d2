//! The room for the connections of a port, and the connection that makes place for a newcomer.

use crate::parties::origin::Peer;
use bertha_core::Addr;
use parking_lot::Mutex;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The room for the connections of a port. Clones are the same room.
///
/// A newcomer to a full room takes the place of a connection of the peer that has most: of the one that has said nothing for longest, else of
/// the one that has been idle for longest, else of the oldest. So those who hold what they can keep nobody out. A newcomer of a peer that
/// has its part takes the place of one of that peer that has said nothing.
#[derive(Debug, Clone)]
pub(crate) struct Rooms(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    per_peer: usize,
    /// Number of times that a connection came or became idle so far, which is the clock of idleness.
    turns: AtomicU64,
    taken: Mutex<Taken>,
}

#[derive(Debug, Default)]
struct Taken {
    count: usize,
    last: u64,
    /// The connections of each peer, by their numbers, which rise.
    peers: HashMap<Option<Peer>, BTreeMap<u64, Arc<Holder>>>,
}

/// A connection that holds a place.
#[derive(Debug)]
struct Holder {
    from: Addr,
    /// The turn at which it came; that at which it became idle, and [`HAS_CALLED`], later; [`BUSY`] while it is not idle.
    idle: AtomicU64,
    given_up: Notify,
}

/// The time of idleness of a connection that is not idle.
const BUSY: u64 = u64::MAX;

/// The mark of a connection that has had work under way. It is idle for less time than one that has said nothing, however long that is.
const HAS_CALLED: u64 = 1 << 63;

/// The place of a connection. Dropping it makes room.
#[derive(Debug)]
pub(crate) struct Place {
    rooms: Rooms,
    peer: Option<Peer>,
    number: u64,
    holder: Arc<Holder>,
}

/// A place that was taken.
#[derive(Debug)]
pub(crate) struct Taking {
    pub(crate) place: Place,
    /// The address of the connection whose place it was.
    pub(crate) instead_of: Option<Addr>,
    /// True if the peer had all that one may have, and that connection was one of them.
    pub(crate) is_of_peer: bool,
}

impl Rooms {
    /// Makes room for so many connections, of which each peer may have a part.
    pub(crate) fn new(most: usize, per_peer: usize) -> Self {
        let (turns, taken) = (AtomicU64::new(0), Mutex::default());
        Self(Arc::new(Inner { most, per_peer, turns, taken }))
    }

    /// Takes a place for a connection from this address. Returns `None` if its peer has all that it may have, and all of them have said
    /// something.
    pub(crate) fn take(&self, from: &Addr) -> Option<Taking> {
        let peer = Peer::of(from);
        let mut taken = self.0.taken.lock();
        // What has no address of IP shares all places.
        let is_of_peer = peer.is_some() && taken.has(peer) >= self.0.per_peer;
        let instead_of = match is_of_peer {
            true => Some(taken.give_up_silent(peer)?),
            false if taken.count < self.0.most => None,
            false => taken.give_up(peer),
        };
        taken.last += 1;
        let (number, idle) = (taken.last, AtomicU64::new(self.0.turn()));
        let holder = Arc::new(Holder { from: from.clone(), idle, given_up: Notify::new() });
        taken.peers.entry(peer).or_default().insert(number, Arc::clone(&holder));
        taken.count += 1;
        Some(Taking { place: Place { rooms: self.clone(), peer, number, holder }, instead_of, is_of_peer })
    }
}

impl Inner {
    fn turn(&self) -> u64 {
        self.turns.fetch_add(1, Ordering::Relaxed)
    }
}

impl Taken {
    fn has(&self, peer: Option<Peer>) -> usize {
        self.peers.get(&peer).map_or(0, BTreeMap::len)
    }

    /// Gives the place of a connection up for a newcomer of a peer, who counts as if it had its place. Returns its address.
    fn give_up(&mut self, newcomer: Option<Peer>) -> Option<Addr> {
        let has =
            |peer: &Option<Peer>, holders: &BTreeMap<_, _>| holders.len() + usize::from(*peer == newcomer);
        let most = self.peers.iter().map(|(peer, holders)| has(peer, holders)).max()?;
        let of_most = self.peers.iter().filter(|(peer, holders)| has(peer, holders) == most);
        let all = of_most.flat_map(|(peer, holders)| holders.iter().map(move |holder| (*peer, holder)));
        let (peer, (number, _)) =
            all.min_by_key(|(_, (number, holder))| (holder.idle.load(Ordering::Relaxed), **number))?;
        self.end(peer, *number)
    }

    /// Gives the place of the connection of a peer up that has said nothing for longest, if there is one. Returns its address.
    fn give_up_silent(&mut self, peer: Option<Peer>) -> Option<Addr> {
        let holders = self.peers.get(&peer)?.iter();
        let idle = holders.map(|(number, holder)| (holder.idle.load(Ordering::Relaxed), *number));
        let (_, number) = idle.filter(|(idle, _)| *idle < HAS_CALLED).min()?;
        self.end(peer, number)
    }

    /// Tells a connection that its place is given up. Returns its address.
    fn end(&mut self, peer: Option<Peer>, number: u64) -> Option<Addr> {
        let holder = Arc::clone(self.peers.get(&peer)?.get(&number)?);
        holder.given_up.notify_one();
        self.remove(peer, number);
        Some(holder.from.clone())
    }

    /// Removes a connection, if it is there.
    fn remove(&mut self, peer: Option<Peer>, number: u64) {
        let Some(holders) = self.peers.get_mut(&peer) else { return };
        self.count -= usize::from(holders.remove(&number).is_some());
        if holders.is_empty() {
            self.peers.remove(&peer);
        }
    }
}

impl Place {
    /// Notes that the connection has work under way.
    pub(crate) fn is_busy(&self) {
        self.holder.idle.store(BUSY, Ordering::Relaxed);
    }

    /// Notes that the connection has nothing under way any more.
    pub(crate) fn is_idle(&self) {
        self.holder.idle.store(HAS_CALLED | self.rooms.0.turn(), Ordering::Relaxed);
    }

    /// Waits until the place is given to a newcomer. Tells it once.
    pub(crate) async fn given_up(&self) {
        self.holder.given_up.notified().await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.rooms.0.taken.lock().remove(self.peer, self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    fn take(rooms: &Rooms, from: &str) -> Place {
        rooms.take(&from.parse().unwrap()).unwrap().place
    }

    /// Returns the places that were given up since the last look.
    fn given_up(places: &[Place]) -> Vec<usize> {
        let is_given_up = |at: &usize| places[*at].given_up().now_or_never().is_some();
        (0..places.len()).filter(is_given_up).collect()
    }

    #[test]
    fn a_peer_that_has_its_part_leaves_room_to_others() {
        let rooms = Rooms::new(1024, 2);
        let take = |from: &str| rooms.take(&from.parse().unwrap());
        let first = [take("127.0.0.1:1"), take("127.0.0.1:2")];
        first.iter().flatten().for_each(|taking| taking.place.is_busy());
        assert!(first.iter().all(Option::is_some) && take("127.0.0.1:3").is_none());
        first.iter().flatten().for_each(|taking| taking.place.is_idle());
        assert!(take("127.0.0.1:3").is_none(), "those who have called keep their places");
        let others = [take("127.0.0.2:1"), take("[::1]:1")];
        assert!(others.iter().all(Option::is_some));
        drop(first);
        assert!(take("127.0.0.1:3").is_some());
        drop(others);
        let taken = rooms.0.taken.lock();
        assert!(taken.peers.is_empty() && taken.count == 0, "nothing is kept of those who have gone");
    }

    #[test]
    fn a_newcomer_has_the_place_that_was_idle_for_longest_of_the_peer_with_most() {
        let rooms = Rooms::new(5, 4);
        let mut places: Vec<_> = ["127.0.0.2:1", "127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3", "127.0.0.3:1"]
            .map(|from| take(&rooms, from))
            .into();
        places[1].is_busy();
        places[2].is_busy();
        places[2].is_idle();
        places.push(take(&rooms, "127.0.0.4:1"));
        assert_eq!(given_up(&places), [3]);
        places.push(take(&rooms, "127.0.0.5:1"));
        assert_eq!(given_up(&places), [2]);
        // All peers have one, and the first is idle for longest.
        places.push(take(&rooms, "127.0.0.6:1"));
        assert_eq!(given_up(&places), [0]);
        // A peer that would have most gives its own.
        places.push(take(&rooms, "127.0.0.1:4"));
        assert_eq!(given_up(&places), [1]);
    }

    #[test]
    fn a_newcomer_of_a_peer_with_its_part_has_the_place_of_its_longest_silent() {
        let rooms = Rooms::new(1024, 3);
        let places = ["127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"].map(|from| take(&rooms, from));
        places[0].is_busy();
        places[0].is_idle();
        let newcomer = rooms.take(&"127.0.0.1:4".parse().unwrap()).unwrap();
        assert!(newcomer.is_of_peer && newcomer.instead_of == Some("127.0.0.1:2".parse().unwrap()));
        assert_eq!(given_up(&places), [1]);
        assert_eq!(rooms.0.taken.lock().count, 3);
    }

    #[test]
    fn the_oldest_place_goes_where_none_is_idle_and_a_place_that_went_counts_once() {
        let rooms = Rooms::new(2, 2);
        let places = [take(&rooms, "127.0.0.1:1"), take(&rooms, "127.0.0.1:2")];
        places.iter().for_each(Place::is_busy);
        let newcomer = rooms.take(&"127.0.0.2:1".parse().unwrap()).unwrap();
        assert_eq!(newcomer.instead_of, Some("127.0.0.1:1".parse().unwrap()));
        assert_eq!(given_up(&places), [0]);
        drop(places);
        assert_eq!(rooms.0.taken.lock().count, 1);
    }
}
