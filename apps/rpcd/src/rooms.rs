//! The room for the connections of each peer.

use crate::origin::Peer;
use bertha_core::Addr;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// The room for the connections of each peer at a port. Clones are the same room.
#[derive(Debug, Clone)]
pub(crate) struct Rooms(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    most: usize,
    taken: Mutex<HashMap<Peer, usize>>,
}

/// The place of a connection. Dropping it makes room.
#[derive(Debug)]
pub(crate) struct Place {
    rooms: Rooms,
    peer: Option<Peer>,
}

impl Rooms {
    /// Makes room for so many connections of each peer.
    pub(crate) fn new(most: usize) -> Self {
        Self(Arc::new(Inner { most, taken: Mutex::default() }))
    }

    /// Takes a place for a connection from this address. Returns `None` if its peer has all that it may have.
    pub(crate) fn take(&self, from: &Addr) -> Option<Place> {
        let peer = Peer::of(from);
        if let Some(peer) = peer {
            let mut taken = self.0.taken.lock();
            let has = taken.get(&peer).copied().unwrap_or(0);
            if has >= self.0.most {
                return None;
            }
            taken.insert(peer, has + 1);
        }
        Some(Place { rooms: self.clone(), peer })
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Some(peer) = self.peer else { return };
        let mut taken = self.rooms.0.taken.lock();
        match taken.get_mut(&peer) {
            Some(has) if *has > 1 => *has -= 1,
            _ => drop(taken.remove(&peer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_that_has_its_part_leaves_room_to_others() {
        let rooms = Rooms::new(2);
        let take = |from: &str| rooms.take(&from.parse().unwrap());
        let first = [take("127.0.0.1:1"), take("127.0.0.1:2")];
        assert!(first.iter().all(Option::is_some) && take("127.0.0.1:3").is_none());
        let others = [take("127.0.0.2:1"), take("[::1]:1")];
        assert!(others.iter().all(Option::is_some));
        drop(first);
        assert!(take("127.0.0.1:3").is_some());
        drop(others);
        assert!(rooms.0.taken.lock().is_empty(), "nothing is kept of those who have gone");
    }
}
