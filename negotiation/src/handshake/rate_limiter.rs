//! The rate of offers of a network.

use crate::auth::{Keyed, MacKey};
use bertha_core::token_bucket::{Rate, TokenBucket};
use bertha_core::{Addr, Network};
use std::time::Instant;

/// Number of buckets. Networks share them by chance, under a secret, so that no network chooses its
/// neighbours.
const BUCKETS: usize = 1024;

/// Token buckets by network, each for a second's worth of offers.
#[derive(Debug)]
pub(super) struct RateLimiter {
    secret: Keyed,
    start: Instant,
    rate: Rate,
    buckets: Vec<TokenBucket>,
    /// The network of the last offer, and its bucket, since a client often sends several offers.
    last: Option<(Network, usize)>,
}

/// The tokens of an offer, so that fractions of it count.
const OFFER: u64 = 1000;

impl RateLimiter {
    pub(super) fn new(secret: MacKey, start: Instant, per_second: u32) -> Self {
        let tokens = u64::from(per_second) * OFFER;
        let rate = Rate { per_second: tokens, burst: tokens };
        let buckets = vec![TokenBucket::new(tokens); BUCKETS];
        Self { secret: secret.keyed(), start, rate, buckets, last: None }
    }

    /// Returns true if `peer`'s network may send a further offer. Then the offer counts.
    pub(super) fn admits(&mut self, now: Instant, peer: &Addr) -> bool {
        let Some(network) = Network::of(peer) else { return true };
        let place = match self.last {
            Some((last, place)) if last == network => place,
            _ => {
                let [low, high, ..] = self.secret.tag(&[network.as_bytes()]);
                usize::from(u16::from_le_bytes([low, high])) % BUCKETS
            }
        };
        self.last = Some((network, place));
        let bucket = &mut self.buckets[place];
        let admits = bucket.ready_at(now.saturating_duration_since(self.start), self.rate).is_none();
        if admits {
            bucket.spend(OFFER);
        }
        admits
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_network_has_so_many_per_second() {
        let start = Instant::now();
        let mut limiter = RateLimiter::new(MacKey::new([1; 32]), start, 10);
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
    fn few_networks_share_a_bucket() {
        let start = Instant::now();
        let mut limiter = RateLimiter::new(MacKey::new([1; 32]), start, 1);
        let networks = (0..500_u16).map(|number| {
            let [high, low] = number.to_be_bytes();
            Addr::from(([10, high, low, 1], 4))
        });
        // By chance, 500 networks share 1024 buckets so that about 395 buckets are used.
        let admitted = networks.filter(|peer| limiter.admits(start, peer)).count();
        assert!((350..=450).contains(&admitted), "{admitted} of 500 networks have a bucket of their own");
    }

    #[test]
    fn zero_admits_nobody() {
        let start = Instant::now();
        assert!(!RateLimiter::new(MacKey::new([1; 32]), start, 0).admits(start, &([10, 1, 2, 3], 4).into()));
    }
}
