//! The MTUs of paths, as routers report them: path MTU discovery (RFC 1191, RFC 8201).

use ahash::RandomState;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// Time for which a report is valid; then larger packets are tried again (RFC 1191, section 6.3; RFC 8201,
/// section 4).
const LIFETIME: Duration = Duration::from_secs(600);

/// Largest number of peers that are remembered. Each peer has a flow of this stack, so strangers don't fill
/// the table.
const CAPACITY: usize = 1024;

/// Smallest MTU over IPv4 that is believed: all hosts receive packets of this size (RFC 791), and a forged
/// report does no more harm.
const MIN_V4: usize = 576;

/// The MTU that every path over IPv6 carries (RFC 8200, section 5).
const MIN_V6: usize = 1280;

/// Common MTUs, for routers that report none (RFC 1191, section 7).
const PLATEAUS: [usize; 8] = [32_000, 17_914, 8166, 4352, 2002, 1492, 1006, MIN_V4];

/// The paths that are narrower than the interface.
#[derive(Debug)]
pub(crate) struct PathMtus {
    table: HashMap<IpAddr, Report, RandomState>,
    /// Time at which the first report expires.
    expires_at: Option<Instant>,
    /// Number that changes whenever the MTU of a path is reduced.
    generation: u32,
}

#[derive(Debug, Clone, Copy)]
struct Report {
    mtu: usize,
    until: Instant,
}

impl PathMtus {
    pub(crate) fn new() -> Self {
        Self { table: HashMap::with_hasher(RandomState::new()), expires_at: None, generation: 0 }
    }

    #[inline]
    pub(crate) fn generation(&self) -> u32 {
        self.generation
    }

    /// Returns the size of the largest packet to `peer`, if it is less than the interface's.
    pub(crate) fn of(&self, peer: IpAddr) -> Option<usize> {
        // In many stacks the table is empty.
        if self.table.is_empty() { None } else { self.table.get(&peer).map(|report| report.mtu) }
    }

    /// Records a router's report that packets to `peer` may have at most `mtu` bytes. Returns false if this
    /// is not less than `before`, the MTU up to now.
    pub(crate) fn reduce(&mut self, peer: IpAddr, mtu: usize, before: usize, now: Instant) -> bool {
        let mtu = match peer {
            IpAddr::V4(_) => mtu.max(MIN_V4),
            // Reports of a smaller MTU have to be ignored (RFC 8201, section 4).
            IpAddr::V6(_) if mtu < MIN_V6 => return false,
            IpAddr::V6(_) => mtu,
        };
        if mtu >= before {
            return false;
        }
        if self.table.len() >= CAPACITY && !self.table.contains_key(&peer) {
            let oldest = self.table.iter().min_by_key(|(_, report)| report.until).map(|(peer, _)| *peer);
            oldest.map(|oldest| self.table.remove(&oldest));
        }
        self.table.insert(peer, Report { mtu, until: now + LIFETIME });
        self.generation = self.generation.wrapping_add(1);
        self.update_expiry();
        true
    }

    /// Returns the time at which the first report expires.
    #[inline]
    pub(crate) fn expires_at(&self) -> Option<Instant> {
        self.expires_at
    }

    /// Forgets a report that has expired, and returns its peer.
    pub(crate) fn poll_expired(&mut self, now: Instant) -> Option<IpAddr> {
        let (&peer, _) = self.table.iter().find(|(_, report)| report.until <= now)?;
        self.table.remove(&peer);
        self.update_expiry();
        Some(peer)
    }

    fn update_expiry(&mut self) {
        self.expires_at = self.table.values().map(|report| report.until).min();
    }
}

/// Returns the likely MTU of a path on which a packet of `total` bytes was too large, and whose router
/// reported no MTU.
pub(crate) fn plateau_below(total: usize) -> usize {
    PLATEAUS.into_iter().find(|&plateau| plateau < total).unwrap_or(MIN_V4)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PEER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 9));
    const PEER6: IpAddr = IpAddr::V6(std::net::Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 9));

    #[test]
    fn path_mtus_only_shrink_and_not_below_the_minimum() {
        let (mut paths, now) = (PathMtus::new(), Instant::now());
        assert!(!paths.reduce(PEER, 1500, 1500, now) && !paths.reduce(PEER, 9000, 1500, now));
        assert!(paths.reduce(PEER, 1400, 1500, now));
        assert!(!paths.reduce(PEER, 1450, 1400, now));
        assert_eq!(paths.of(PEER), Some(1400));
        assert!(paths.reduce(PEER, 68, 1400, now));
        assert!(!paths.reduce(PEER, 68, 576, now));
        assert_eq!((paths.of(PEER), paths.of(PEER6), paths.generation()), (Some(576), None, 2));
        assert!(!paths.reduce(PEER6, 1279, 1500, now));
        assert!(paths.reduce(PEER6, 1280, 1500, now));
        assert_eq!(paths.of(PEER6), Some(1280));
    }

    #[test]
    fn a_report_lasts_ten_minutes() {
        let (mut paths, start) = (PathMtus::new(), Instant::now());
        let after = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(paths.expires_at(), None);
        paths.reduce(PEER, 1400, 1500, start);
        paths.reduce(PEER6, 1400, 1500, after(5));
        assert_eq!((paths.expires_at(), paths.poll_expired(after(599))), (Some(after(600)), None));
        assert_eq!((paths.poll_expired(after(600)), paths.poll_expired(after(600))), (Some(PEER), None));
        assert_eq!((paths.of(PEER), paths.expires_at()), (None, Some(after(605))));
        assert_eq!((paths.poll_expired(after(700)), paths.expires_at()), (Some(PEER6), None));
    }

    #[test]
    fn no_more_peers_are_remembered_than_the_table_has_room_for() {
        let (mut paths, start) = (PathMtus::new(), Instant::now());
        for number in 0..3000_u32 {
            let peer = IpAddr::from((0x0a01_0000 + number).to_be_bytes());
            assert!(paths.reduce(peer, 1400, 1500, start + Duration::from_millis(number.into())));
            assert!(paths.table.len() <= CAPACITY);
        }
    }

    #[test]
    fn a_router_that_reports_no_mtu_means_the_next_plateau() {
        for (total, plateau) in [(1500, 1492), (1492, 1006), (9000, 8166), (577, 576), (100, 576)] {
            assert_eq!(plateau_below(total), plateau);
        }
    }
}
