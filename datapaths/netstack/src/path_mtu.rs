//! What the paths to others carry, as routers on them say: path MTU discovery (RFC 1191, RFC 8201).

use ahash::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// For how long a router is believed; then larger packets are tried again (RFC 1191, section 6.3; RFC 8201, section 4).
const LASTS: Duration = Duration::from_secs(600);

/// The most destinations that are remembered. Each has a flow of ours, so strangers don't fill this.
const MOST: usize = 1024;

/// The smallest packet that a path over IPv4 is believed not to carry whole is one byte longer: all hosts take this much (RFC
/// 791), and a forged message does no more harm.
const LEAST_V4: usize = 576;

/// What every path over IPv6 carries (RFC 8200, section 5).
const LEAST_V6: usize = 1280;

/// What links commonly carry, for routers that don't say (RFC 1191, section 7).
const PLATEAUS: [usize; 8] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, LEAST_V4];

/// The paths that are narrower than the interface.
#[derive(Debug)]
pub(crate) struct PathMtus {
    table: HashMap<IpAddr, (usize, Instant), RandomState>,
    /// When the first of them is to be forgotten.
    next: Option<Instant>,
    /// Changes whenever a path has become narrower.
    generation: u32,
}

impl PathMtus {
    pub(crate) fn new() -> Self {
        Self { table: HashMap::with_hasher(RandomState::new()), next: None, generation: 0 }
    }

    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// The largest packet to `peer`, if it is less than the interface has.
    pub(crate) fn of(&self, peer: IpAddr) -> Option<usize> {
        // Often there are none.
        if self.table.is_empty() { None } else { self.table.get(&peer).map(|(mtu, _)| *mtu) }
    }

    /// A router says that no larger packets than `mtu` get through to `peer`, where up to now those of `before` were sent. Whether
    /// that makes a difference.
    pub(crate) fn narrow(&mut self, peer: IpAddr, mtu: usize, before: usize, now: Instant) -> bool {
        let mtu = match peer {
            IpAddr::V4(_) => mtu.max(LEAST_V4),
            // To be ignored (RFC 8201, section 4).
            IpAddr::V6(_) if mtu < LEAST_V6 => return false,
            IpAddr::V6(_) => mtu,
        };
        if mtu >= before {
            return false;
        }
        if self.table.len() >= MOST && !self.table.contains_key(&peer) {
            let first = self.table.iter().min_by_key(|(_, (_, until))| *until).map(|(peer, _)| *peer);
            first.map(|first| self.table.remove(&first));
        }
        self.table.insert(peer, (mtu, now + LASTS));
        self.generation = self.generation.wrapping_add(1);
        self.look_for_next();
        true
    }

    /// When something is to be forgotten.
    #[inline]
    pub(crate) fn next(&self) -> Option<Instant> {
        self.next
    }

    /// Forgets a path that was narrow for long enough.
    pub(crate) fn forget(&mut self, now: Instant) -> Option<IpAddr> {
        let (&peer, _) = self.table.iter().find(|(_, (_, until))| *until <= now)?;
        self.table.remove(&peer);
        self.look_for_next();
        Some(peer)
    }

    fn look_for_next(&mut self) {
        self.next = self.table.values().map(|(_, until)| *until).min();
    }
}

/// What a path is likely to carry where a packet of `total` bytes did not get through, and the router did not say.
pub(crate) fn plateau_below(total: usize) -> usize {
    PLATEAUS.into_iter().find(|&plateau| plateau < total).unwrap_or(LEAST_V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));
    const PEER6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));

    #[test]
    fn paths_only_narrow_and_not_below_what_all_carry() {
        let (mut paths, now) = (PathMtus::new(), Instant::now());
        assert!(!paths.narrow(PEER, 1500, 1500, now) && !paths.narrow(PEER, 9000, 1500, now));
        assert!(paths.narrow(PEER, 1400, 1500, now));
        assert!(!paths.narrow(PEER, 1450, 1400, now));
        assert_eq!(paths.of(PEER), Some(1400));
        assert!(paths.narrow(PEER, 68, 1400, now));
        assert!(!paths.narrow(PEER, 68, 576, now));
        assert_eq!((paths.of(PEER), paths.of(PEER6), paths.generation()), (Some(576), None, 2));
        assert!(!paths.narrow(PEER6, 1279, 1500, now));
        assert!(paths.narrow(PEER6, 1280, 1500, now));
        assert_eq!(paths.of(PEER6), Some(1280));
    }

    #[test]
    fn a_router_is_believed_for_ten_minutes() {
        let (mut paths, start) = (PathMtus::new(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(paths.next(), None);
        paths.narrow(PEER, 1400, 1500, start);
        paths.narrow(PEER6, 1400, 1500, after(5));
        assert_eq!((paths.next(), paths.forget(after(599))), (Some(after(600)), None));
        assert_eq!((paths.forget(after(600)), paths.forget(after(600))), (Some(PEER), None));
        assert_eq!((paths.of(PEER), paths.next()), (None, Some(after(605))));
        assert_eq!((paths.forget(after(700)), paths.next()), (Some(PEER6), None));
    }

    #[test]
    fn not_more_destinations_are_remembered_than_there_is_room_for() {
        let (mut paths, start) = (PathMtus::new(), Instant::now());
        for number in 0..3000_u32 {
            let peer = IpAddr::from((0x0a01_0000 + number).to_be_bytes());
            assert!(paths.narrow(peer, 1400, 1500, start + Duration::from_millis(number.into())));
            assert!(paths.table.len() <= MOST);
        }
    }

    #[test]
    fn silent_routers_are_met_on_the_next_plateau() {
        for (total, plateau) in [(1500, 1492), (1492, 1006), (9000, 8166), (577, 576), (100, 576)] {
            assert_eq!(plateau_below(total), plateau);
        }
    }
}
