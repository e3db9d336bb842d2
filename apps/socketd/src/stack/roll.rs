//! The roll of the sockets that are carried, for a person who asks.

use super::Engine;
use bertha_runtime::Shares;
use bertha_runtime::tokio::Credentials;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::net::SocketAddr;
use std::rc::Rc;
use std::time::{Duration, Instant};

/// The sockets that were refused or cut and are remembered at most, ..
const REFUSALS: usize = 256;

/// .. and for how long.
const MEMORY: Duration = Duration::from_secs(600);

/// The longest reason, in characters.
const LONGEST: usize = 300;

#[derive(Debug)]
struct Record {
    since: Instant,
    owner: Credentials,
    /// The local and the other address.
    addresses: [Option<SocketAddr>; 2],
    /// The stack of a socket that is carried, or why it is not.
    what: String,
    /// The datagrams that were dropped.
    dropped: u64,
}

/// The roll of the sockets that are carried.
#[derive(Debug)]
pub(super) struct Roll {
    carried: BTreeMap<u64, Record>,
    /// The places of sockets, which programs share by their processes. A program that strangers fill keeps no other out.
    places: Shares<Option<u32>>,
    refused: VecDeque<Record>,
}

impl Roll {
    /// Makes a roll of so many sockets at most.
    pub(super) fn new(places: usize) -> Self {
        Self { carried: BTreeMap::new(), places: Shares::new(places), refused: VecDeque::new() }
    }

    /// Enters a socket. Returns false, and notes the refusal, if its program has its part of all sockets.
    pub(super) fn enter(
        &mut self,
        number: u64,
        owner: Credentials,
        addresses: [Option<SocketAddr>; 2],
        what: String,
    ) -> bool {
        let has_place = self.places.take(owner.process);
        if has_place {
            self.carried.insert(number, Record { since: Instant::now(), owner, addresses, what, dropped: 0 });
        } else {
            self.refuse(owner, addresses, "the program has its part of the sockets that are carried");
        }
        has_place
    }

    fn leave(&mut self, number: u64) -> Option<Record> {
        let record = self.carried.remove(&number)?;
        self.places.give_back(record.owner.process);
        Some(record)
    }

    pub(super) fn refuse(&mut self, owner: Credentials, addresses: [Option<SocketAddr>; 2], reason: &str) {
        if self.refused.len() == REFUSALS {
            self.refused.pop_front();
        }
        let what = reason.to_owned();
        self.refused.push_back(Record { since: Instant::now(), owner, addresses, what, dropped: 0 });
    }

    /// Returns a line for each socket that a user may see.
    pub(super) fn lines(&mut self, asker: u32) -> String {
        self.refused.retain(|record| record.since.elapsed() < MEMORY);
        let mut text = String::new();
        let all = self.carried.values().map(|record| ("stack", record));
        for (place, record) in all.chain(self.refused.iter().map(|record| ("nowhere", record))) {
            let Record { since, owner, addresses: [local, peer], what, dropped } = record;
            if asker != 0 && asker != owner.user {
                continue;
            }
            let process = owner.process.map_or_else(|| "-".into(), |process| process.to_string());
            let text_of =
                |address: &Option<SocketAddr>| address.map_or_else(|| "-".into(), |it| it.to_string());
            let (local, peer, seconds) = (text_of(local), text_of(peer), since.elapsed().as_secs());
            // Reasons come from the other end, too.
            let plain = |letter: char| if letter.is_control() { ' ' } else { letter };
            let mut what: String = what.chars().take(LONGEST).map(plain).collect();
            if *dropped > 0 {
                let _ = write!(what, "; {dropped} were dropped");
            }
            // Writing to a string does not fail.
            let _ = writeln!(text, "{process}\t{local}\t{peer}\t{place}\t0\t{seconds}\t{what}");
        }
        text
    }
}

/// The entry of a socket in the roll, which it leaves when this is dropped.
#[derive(Debug)]
pub(super) struct Entry {
    engine: Rc<Engine>,
    number: u64,
}

impl Entry {
    pub(super) fn new(engine: Rc<Engine>, number: u64) -> Self {
        Self { engine, number }
    }

    /// Notes the addresses of the connection.
    pub(super) fn connected(&self, local: SocketAddr, peer: SocketAddr) {
        if let Some(record) = self.engine.roll.borrow_mut().carried.get_mut(&self.number) {
            record.addresses = [Some(local), Some(peer)];
        }
    }

    /// Notes the peer of a socket of datagrams.
    pub(super) fn has_peer(&self, peer: Option<SocketAddr>) {
        if let Some(record) = self.engine.roll.borrow_mut().carried.get_mut(&self.number) {
            record.addresses[1] = peer;
        }
    }

    /// Counts a datagram that was dropped.
    pub(super) fn dropped(&self) {
        if let Some(record) = self.engine.roll.borrow_mut().carried.get_mut(&self.number) {
            record.dropped += 1;
        }
    }

    /// Notes why the connection was refused or cut.
    pub(super) fn refused(self, reason: &str) {
        let mut roll = self.engine.roll.borrow_mut();
        if let Some(Record { owner, addresses, .. }) = roll.leave(self.number) {
            roll.refuse(owner, addresses, reason);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.engine.roll.borrow_mut().leave(self.number);
    }
}
