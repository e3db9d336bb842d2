//! How many offers one network may send.

use crate::auth::{Keyed, MacKey};
use bertha_core::Addr;
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How many buckets there are. Networks share them by chance, under a secret, so that no network chooses with whom.
const BUCKETS: usize = 1024;

/// Token buckets by network, each for a second's worth of offers.
#[derive(Debug)]
pub(super) struct Limiter {
    secret: Keyed,
    start: Instant,
    per_second: u32,
    buckets: Vec<Bucket>,
    /// The network that was asked about last, and its bucket: a client seldom comes alone.
    last: Option<([u8; 8], usize)>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Thousandths of an offer that were taken out.
    taken: u64,
    /// When that was, in milliseconds from the start.
    at: u64,
}

/// In thousandths.
const OFFER: u64 = 1000;

impl Limiter {
    pub(super) fn new(secret: MacKey, start: Instant, per_second: u32) -> Self {
        let buckets = vec![Bucket::default(); BUCKETS];
        Self { secret: secret.keyed(), start, per_second, buckets, last: None }
    }

    /// Whether `peer`'s network may send one more offer, which then counts.
    pub(super) fn admits(&mut self, now: Instant, peer: &Addr) -> bool {
        let Some(network) = network(peer) else { return true };
        let place = match self.last {
            Some((last, place)) if last == network => place,
            _ => {
                let [low, high, ..] = self.secret.tag(&network);
                usize::from(u16::from_le_bytes([low, high])) % BUCKETS
            }
        };
        self.last = Some((network, place));
        let bucket = &mut self.buckets[place];
        let elapsed: Duration = now.saturating_duration_since(self.start);
        let now = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        // So many thousandths of an offer per millisecond as there are offers per second.
        let given_back = now.saturating_sub(bucket.at).saturating_mul(self.per_second.into());
        bucket.taken = bucket.taken.saturating_sub(given_back);
        bucket.at = now;
        let admits = bucket.taken + OFFER <= u64::from(self.per_second) * OFFER;
        bucket.taken += if admits { OFFER } else { 0 };
        admits
    }
}

/// What one sender can be expected to have addresses from; nothing if there are no networks.
fn network(peer: &Addr) -> Option<[u8; 8]> {
    let mut network = [0; 8];
    match peer {
        Addr::Ip(addr) => match addr.ip().to_canonical() {
            IpAddr::V4(ip) => network[..3].copy_from_slice(&ip.octets()[..3]),
            IpAddr::V6(ip) => {
                network[..7].copy_from_slice(&ip.octets()[..7]);
                network[7] = 6;
            }
        },
        _ => return None,
    }
    Some(network)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_has_so_many_per_second() {
        let start = Instant::now();
        let mut limiter = Limiter::new(MacKey::new([1; 32]), start, 10);
        let here: Addr = ([10, 1, 2, 3], 4).into();
        let neighbour: Addr = ([10, 1, 2, 200], 5).into();
        let elsewhere: Addr = ([10, 1, 3, 3], 4).into();
        assert_eq!((0..50).filter(|_| limiter.admits(start, &here)).count(), 10);
        assert!(!limiter.admits(start, &neighbour) && limiter.admits(start, &elsewhere));
        let later = start + Duration::from_millis(300);
        assert_eq!((0..50).filter(|_| limiter.admits(later, &neighbour)).count(), 3);
        let much_later = start + Duration::from_secs(1000);
        assert_eq!((0..50).filter(|_| limiter.admits(much_later, &here)).count(), 10);
        assert!((0..50).all(|_| limiter.admits(start, &Addr::Unnamed)));
    }

    #[test]
    fn zero_admits_nobody() {
        let start = Instant::now();
        assert!(!Limiter::new(MacKey::new([1; 32]), start, 0).admits(start, &([10, 1, 2, 3], 4).into()));
    }
}
