//! The first flights that were taken, so that no late duplicate is taken again.

use super::ticket::FRESHNESS;
use ahash::RandomState;
use std::collections::HashSet;
use std::mem;
use std::time::{Duration, Instant};

/// Minimum time for which an offer is remembered. It is longer than a client repeats the offer, and networks
/// delay it.
const MEMORY: Duration = Duration::from_secs(30);

/// A first flight that is taken as early as its ticket allows would be fresh for twice as long.
const _: () = assert!(MEMORY.as_secs() > 2 * FRESHNESS.as_secs());

/// The offers with messages that made a connection (RFC 8446 section 8.2), by their hashes, in two
/// generations.
#[derive(Debug)]
pub struct ReplayFilter {
    young: HashSet<[u8; 32], RandomState>,
    old: HashSet<[u8; 32], RandomState>,
    since: Instant,
    most: usize,
}

/// The filter's knowledge of an offer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Freshness {
    /// The offer is new, and can be remembered.
    New,
    /// The offer may be new, and can't be remembered, since the filter is full.
    Full,
    /// The offer has made a connection.
    Spent,
}

impl ReplayFilter {
    /// Makes a filter for at most `most` offers.
    pub fn new(most: usize, now: Instant) -> Self {
        Self { young: HashSet::default(), old: HashSet::default(), since: now, most }
    }

    /// Returns the filter's knowledge of this offer.
    pub fn look_up(&mut self, offer: &[u8; 32], now: Instant) -> Freshness {
        self.age(now);
        if self.young.contains(offer) || self.old.contains(offer) {
            Freshness::Spent
        } else if self.young.len() + self.old.len() >= self.most {
            Freshness::Full
        } else {
            Freshness::New
        }
    }

    /// Remembers an offer if it is new, and returns the earlier knowledge of it.
    pub fn insert(&mut self, offer: [u8; 32], now: Instant) -> Freshness {
        let memory = self.look_up(&offer, now);
        if memory == Freshness::New {
            self.young.insert(offer);
        }
        memory
    }

    fn age(&mut self, now: Instant) {
        let age = now.saturating_duration_since(self.since);
        if age < MEMORY {
            return;
        }
        self.old = mem::take(&mut self.young);
        if age >= 2 * MEMORY {
            self.old.clear();
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_is_remembered_for_half_a_minute_at_least_and_a_minute_at_most() {
        let start = Instant::now();
        for begin in [0, 10, 29u64] {
            let at = |after: u64| start + Duration::from_secs(begin + after);
            let mut replay_filter = ReplayFilter::new(10, start);
            assert_eq!(replay_filter.insert([1; 32], at(0)), Freshness::New);
            assert_eq!(replay_filter.insert([1; 32], at(0)), Freshness::Spent);
            assert_eq!(replay_filter.look_up(&[2; 32], at(0)), Freshness::New);
            assert_eq!(replay_filter.look_up(&[1; 32], at(30)), Freshness::Spent);
            assert_eq!(replay_filter.look_up(&[1; 32], at(90)), Freshness::New);
        }
    }

    #[test]
    fn a_full_memory_remembers_nothing_new() {
        let start = Instant::now();
        let mut replay_filter = ReplayFilter::new(2, start);
        for number in [1, 2] {
            assert_eq!(replay_filter.insert([number; 32], start), Freshness::New);
        }
        assert_eq!(replay_filter.insert([3; 32], start), Freshness::Full);
        assert_eq!(replay_filter.insert([1; 32], start), Freshness::Spent);
        assert_eq!(replay_filter.insert([3; 32], start + 2 * MEMORY), Freshness::New);
    }

    #[test]
    fn generations_change_every_half_minute_and_both_end_after_a_minute_without_offers() {
        let start = Instant::now();
        let at = |seconds: u64| start + Duration::from_secs(seconds);
        let mut replay_filter = ReplayFilter::new(10, start);
        replay_filter.insert([1; 32], start);
        for (seconds, expected) in [(30, Freshness::Spent), (59, Freshness::Spent), (60, Freshness::New)] {
            assert_eq!(replay_filter.look_up(&[1; 32], at(seconds)), expected, "after {seconds} s");
        }
        for (seconds, expected) in [(59, Freshness::Spent), (60, Freshness::New)] {
            let mut replay_filter = ReplayFilter::new(10, start);
            replay_filter.insert([1; 32], start);
            assert_eq!(replay_filter.look_up(&[1; 32], at(seconds)), expected, "at once after {seconds} s");
        }
        // Both generations count.
        let mut replay_filter = ReplayFilter::new(2, start);
        replay_filter.insert([1; 32], start);
        assert_eq!(replay_filter.insert([2; 32], at(30)), Freshness::New);
        assert_eq!(replay_filter.look_up(&[3; 32], at(30)), Freshness::Full);
    }
}
