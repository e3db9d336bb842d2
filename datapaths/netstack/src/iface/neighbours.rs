//! The link-layer addresses of neighbours: the cache of ARP (RFC 826, RFC 1122 section 2.3.2) and of neighbour discovery (RFC 4861,
//! simplified: an entry is known, stale or being resolved).

use crate::MacAddr;
use ahash::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// The time for which an address is valid (RFC 4861, REACHABLE_TIME, twice as long).
const REACHABLE: Duration = Duration::from_secs(60);

/// The pause between requests (RFC 4861, RETRANS_TIMER).
const RETRANSMIT_INTERVAL: Duration = Duration::from_secs(1);

/// The requests without a reply after which a neighbour counts as unreachable (RFC 4861, MAX_UNICAST_SOLICIT).
const MAX_REQUESTS: u8 = 3;

/// The most entries: strangers in a large subnet are to cost little memory.
const CAPACITY: usize = 1024;

#[derive(Debug, Clone, Copy)]
struct Entry {
    known: Option<Known>,
    /// The requests since the last reply, and the time of the last one.
    requests: u8,
    requested: Instant,
}

/// An address, valid for a time.
#[derive(Debug, Clone, Copy)]
struct Known {
    mac: MacAddr,
    until: Instant,
}

/// The result of a look-up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lookup {
    pub(crate) resolution: Resolution,
    /// A request is to be sent.
    pub(crate) request: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Resolution {
    /// The address, to be looked up again at `until`.
    Known { mac: MacAddr, until: Instant },
    /// The neighbour has yet to reply.
    Resolving,
    /// The neighbour has not replied. The next look-up begins anew.
    Failed,
}

/// The neighbours' addresses.
#[derive(Debug)]
pub(crate) struct Neighbours {
    table: HashMap<IpAddr, Entry, RandomState>,
    /// Changes whenever an address that was returned is no longer valid.
    generation: u32,
}

impl Neighbours {
    pub(crate) fn new() -> Self {
        Self { table: HashMap::with_hasher(RandomState::new()), generation: 0 }
    }

    /// Changes whenever an address that was returned is no longer valid.
    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The address of `neighbour`, or the state of its resolution.
    pub(crate) fn look_up(&mut self, neighbour: IpAddr, now: Instant) -> Lookup {
        let Some(entry) = self.table.get_mut(&neighbour) else {
            self.make_room();
            self.table.insert(neighbour, Entry { known: None, requests: 1, requested: now });
            return Lookup { resolution: Resolution::Resolving, request: true };
        };
        if let Some(Known { mac, until }) = entry.known
            && now < until
        {
            return Lookup { resolution: Resolution::Known { mac, until }, request: false };
        }
        // Unknown or stale. A stale address is used while it is resolved once more.
        let due =
            entry.requests == 0 || now.saturating_duration_since(entry.requested) >= RETRANSMIT_INTERVAL;
        if due && entry.requests >= MAX_REQUESTS {
            self.table.remove(&neighbour);
            self.generation = self.generation.wrapping_add(1);
            return Lookup { resolution: Resolution::Failed, request: false };
        }
        if due {
            entry.requests += 1;
            entry.requested = now;
        }
        let resolution = match entry.known {
            Some(Known { mac, .. }) => {
                Resolution::Known { mac, until: entry.requested + RETRANSMIT_INTERVAL }
            }
            None => Resolution::Resolving,
        };
        Lookup { resolution, request: due }
    }

    /// Learns the address of `neighbour` from its reply or request. A neighbour that was not looked up is remembered if it `asks_us`,
    /// since it is to get a reply (RFC 826).
    pub(crate) fn learn(&mut self, neighbour: IpAddr, mac: MacAddr, asks_us: bool, now: Instant) {
        let entry = Entry { known: Some(Known { mac, until: now + REACHABLE }), requests: 0, requested: now };
        if let Some(old) = self.table.get_mut(&neighbour) {
            if old.known.is_some_and(|before| before.mac != mac) {
                self.generation = self.generation.wrapping_add(1);
            }
            *old = entry;
        } else if asks_us {
            self.make_room();
            self.table.insert(neighbour, entry);
        }
    }

    /// Makes room for one more by forgetting the entry that is oldest.
    fn make_room(&mut self) {
        if self.table.len() < CAPACITY {
            return;
        }
        let oldest =
            self.table.iter().min_by_key(|(_, entry)| entry.requested).map(|(neighbour, _)| *neighbour);
        if let Some(oldest) = oldest {
            self.table.remove(&oldest);
            self.generation = self.generation.wrapping_add(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const IP: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(10, 0, 0, 2));
    const MAC: MacAddr = MacAddr([2, 0, 0, 0, 0, 2]);
    const OTHER: MacAddr = MacAddr([2, 0, 0, 0, 0, 3]);

    fn seconds(seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds)
    }

    #[test]
    fn an_unknown_neighbour_is_asked_three_times() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        let mut look_up = |after: f64| neighbours.look_up(IP, start + seconds(after));
        let [asked, waits] =
            [true, false].map(|request| Lookup { resolution: Resolution::Resolving, request });
        assert_eq!(
            [0.0, 0.0, 0.9, 1.0, 1.1, 2.0].map(&mut look_up),
            [asked, waits, waits, asked, waits, asked]
        );
        assert_eq!(look_up(2.9), waits);
        assert_eq!(look_up(3.0), Lookup { resolution: Resolution::Failed, request: false });
        assert_eq!(look_up(3.0), asked);
    }

    #[test]
    fn an_address_lasts_a_minute_and_is_then_resolved_while_it_is_used() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.look_up(IP, start);
        neighbours.learn(IP, MAC, false, start);
        let before = neighbours.generation();
        let fresh = neighbours.look_up(IP, start + seconds(59.0));
        let resolution = Resolution::Known { mac: MAC, until: start + REACHABLE };
        assert_eq!(fresh, Lookup { resolution, request: false });
        for (after, request) in [(60.0, true), (60.5, false), (61.0, true), (62.0, true)] {
            let lookup = neighbours.look_up(IP, start + seconds(after));
            assert!(matches!(lookup.resolution, Resolution::Known { mac: MAC, .. }), "{after}");
            assert_eq!(lookup.request, request, "{after}");
        }
        assert_eq!(neighbours.generation(), before);
        assert_eq!(neighbours.look_up(IP, start + seconds(63.0)).resolution, Resolution::Failed);
        assert_ne!(neighbours.generation(), before);
    }

    #[test]
    fn a_new_address_invalidates_the_one_that_was_returned() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.learn(IP, MAC, true, start);
        let before = neighbours.generation();
        neighbours.learn(IP, MAC, false, start);
        assert_eq!(neighbours.generation(), before);
        neighbours.learn(IP, OTHER, false, start);
        assert_ne!(neighbours.generation(), before);
        assert!(matches!(neighbours.look_up(IP, start).resolution, Resolution::Known { mac: OTHER, .. }));
    }

    #[test]
    fn strangers_are_not_remembered_beyond_measure() {
        let (mut neighbours, start) = (Neighbours::new(), Instant::now());
        neighbours.learn(IP, MAC, false, start);
        assert_eq!(neighbours.look_up(IP, start).resolution, Resolution::Resolving);
        for number in 0..5000_u32 {
            let stranger = IpAddr::from((0x0a01_0000 + number).to_be_bytes());
            neighbours.learn(stranger, OTHER, true, start + Duration::from_millis(number.into()));
            assert!(neighbours.table.len() <= CAPACITY);
        }
    }
}
