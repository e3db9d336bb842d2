//! The room for the requests that are read.

use crate::doors::grpc::fairness::credit::Credit;
use crate::doors::grpc::formats::body;
use crate::doors::grpc::formats::status::Status;
use crate::failures::code::Code;
use crate::parties::origin::Peer;
use parking_lot::Mutex;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

/// Number of bytes of the requests of a connection that are read at once.
const CONNECTION: usize = 16 << 20;

/// Number of bytes of the requests of all connections that are read at once. A peer that is alone may have a fifth.
const ALL: usize = 160 << 20;

/// Number of bytes that a request takes before its first byte has come: its stream and its task.
const BEGUN: usize = 4 << 10;

/// The room for the requests of all connections that are read.
///
/// A peer may have a quarter of what is free, however many connections it has. The more others have, the less a peer gets, and it gets
/// something however many they are.
#[derive(Debug, Default)]
pub(super) struct Common(Mutex<Taken>);

#[derive(Debug, Default)]
struct Taken {
    all: usize,
    peers: HashMap<Option<Peer>, usize>,
}

/// The room for the requests of a connection that are read.
#[derive(Debug)]
pub(super) struct Reading {
    common: Arc<Common>,
    peer: Option<Peer>,
    taken: Mutex<usize>,
    /// The credit for bytes that are no part of calls.
    pub(super) credit: Arc<Credit>,
}

/// The part of the room that a request takes. Dropping it gives it back.
#[derive(Debug)]
pub(super) struct Room<'a> {
    reading: &'a Reading,
    bytes: usize,
}

impl Reading {
    /// Makes the room of a connection, which is a part of that of all.
    pub(super) fn new(common: Arc<Common>, credit: Arc<Credit>, peer: SocketAddr) -> Self {
        Self { common, peer: Peer::of(&peer.into()), taken: Mutex::new(0), credit }
    }

    /// Takes the room of a request of which nothing has come.
    ///
    /// # Errors
    /// [`ResourceExhausted`](Code::ResourceExhausted) if there is none.
    pub(super) fn begin(&self) -> Result<Room<'_>, Status> {
        let mut room = Room { reading: self, bytes: 0 };
        body::Room::grow(&mut room, BEGUN)?;
        Ok(room)
    }
}

impl body::Room for Room<'_> {
    fn grow(&mut self, more: usize) -> Result<(), Status> {
        self.reading.credit.is_message(more);
        let full = |whose: &str| {
            Status::new(Code::ResourceExhausted, &format!("the requests of {whose} take too much memory"))
        };
        let mut taken = self.reading.taken.lock();
        if *taken + more > CONNECTION {
            return Err(full("the connection"));
        }
        if !self.reading.common.take(self.reading.peer, more) {
            return Err(full("the connections of the address"));
        }
        *taken += more;
        self.bytes += more;
        Ok(())
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        *self.reading.taken.lock() -= self.bytes;
        self.reading.common.give_back(self.reading.peer, self.bytes);
    }
}

impl Common {
    /// Takes so many bytes, if a peer may have them.
    fn take(&self, peer: Option<Peer>, more: usize) -> bool {
        let mut taken = self.0.lock();
        let has = taken.peers.get(&peer).copied().unwrap_or(0);
        let may = has + more <= ALL.saturating_sub(taken.all + more) / 4;
        if may {
            taken.all += more;
            taken.peers.insert(peer, has + more);
        }
        may
    }

    fn give_back(&self, peer: Option<Peer>, bytes: usize) {
        let mut taken = self.0.lock();
        taken.all -= bytes;
        match taken.peers.get_mut(&peer) {
            Some(has) if *has > bytes => *has -= bytes,
            _ => drop(taken.peers.remove(&peer)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use body::Room as _;

    #[test]
    fn connections_have_a_bound_and_those_of_a_peer_leave_room_to_others() {
        let common = Arc::new(Common::default());
        let reading = |peer: &str| Reading::new(Arc::clone(&common), Arc::default(), peer.parse().unwrap());
        let fill = |reading: &Reading| {
            let mut room = reading.begin().unwrap();
            while room.grow(BEGUN).is_ok() {}
            std::mem::ManuallyDrop::new(room).bytes
        };
        let ones: Vec<_> = (1..=4).map(|port| reading(&format!("127.0.0.1:{port}"))).collect();
        assert_eq!([fill(&ones[0]), fill(&ones[1])], [CONNECTION; 2]);
        assert!(ones[2..].iter().all(|one| one.begin().is_err()), "the peer has its part");
        let others: Vec<_> = (2..=10).map(|host| fill(&reading(&format!("127.0.0.{host}:1")))).collect();
        assert!(others[0] == CONNECTION && others.iter().all(|has| *has >= 4 << 20), "{others:?}");
    }

    #[test]
    fn room_comes_back_with_its_requests() {
        let common = Arc::new(Common::default());
        let reading = Reading::new(Arc::clone(&common), Arc::default(), "127.0.0.1:1".parse().unwrap());
        let mut rooms: Vec<_> = (0..3).map(|_| reading.begin().unwrap()).collect();
        assert!(rooms[0].grow(CONNECTION).is_err() && rooms[0].grow(CONNECTION / 2).is_ok());
        rooms.clear();
        assert_eq!(*reading.taken.lock(), 0);
        let taken = common.0.lock();
        assert!(taken.all == 0 && taken.peers.is_empty(), "nothing is kept of those who have gone");
    }
}
