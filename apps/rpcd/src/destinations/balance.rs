//! The choice of a peer for each call, without I/O.

use std::time::Duration;

/// Time for which a peer is passed over after a first failure. Each further one doubles it.
const FIRST: Duration = Duration::from_millis(100);

/// The longest time for which a peer is passed over.
const LONGEST: Duration = Duration::from_secs(5);

/// The peers of a route, by their places in it, as bits of sets.
///
/// A call goes to the peer with fewer calls of two that are drawn. They are drawn among the peers that are connected, if there are any:
/// others are connected meanwhile, and no call waits for them. A peer that failed is passed over for a time while another is there.
#[derive(Debug)]
pub(crate) struct Balance {
    all: u64,
    /// Peers that are connected, or are being connected.
    linked: u64,
    /// Peers that are connected.
    open: u64,
    passed_over: u64,
    pauses: Vec<Pause>,
    /// The earliest end of a pause.
    due: Duration,
    draws: u64,
}

/// The time for which a peer is passed over.
#[derive(Debug, Clone, Copy, Default)]
struct Pause {
    length: Duration,
    end: Duration,
    /// Time since which a peer that is connected has not failed.
    well_since: Duration,
}

impl Balance {
    /// Makes the balance over so many peers, from 1 to 64, which are not connected. The seed is that of the draws.
    pub(crate) fn new(peers: usize, seed: u64) -> Self {
        let all = u64::MAX >> (64 - peers.clamp(1, 64));
        let pauses = vec![Pause::default(); peers];
        Self { all, linked: 0, open: 0, passed_over: 0, pauses, due: Duration::MAX, draws: seed }
    }

    /// Returns the next peer that has to be connected, and notes that it is being connected.
    pub(crate) fn connect(&mut self, now: Duration) -> Option<usize> {
        self.end_pauses(now);
        let missing = self.all & !self.linked & !self.passed_over;
        (missing != 0).then(|| {
            let peer = missing.trailing_zeros() as usize;
            self.linked |= bit(peer);
            peer
        })
    }

    /// Returns the peer that gets the next call, given the number of calls that a peer has.
    pub(crate) fn choose(&mut self, now: Duration, calls: impl Fn(usize) -> usize) -> usize {
        self.end_pauses(now);
        let well = self.all & !self.passed_over;
        let set = [well & self.open, well].into_iter().find(|set| *set != 0).unwrap_or(self.all);
        let count = set.count_ones();
        let draw = self.draw();
        let one = scaled(draw as u32, count);
        if count == 1 {
            return nth(set, one);
        }
        let other = scaled((draw >> 32) as u32, count - 1);
        let (one, other) = (nth(set, one), nth(set, other + u32::from(other >= one)));
        if calls(other) < calls(one) { other } else { one }
    }

    /// Returns true if a call can go to a peer that is not passed over.
    pub(crate) fn has_any(&mut self, now: Duration) -> bool {
        self.end_pauses(now);
        self.all & !self.passed_over != 0
    }

    /// Returns true if the peer is connected.
    pub(crate) fn is_open(&self, peer: usize) -> bool {
        self.open & bit(peer) != 0
    }

    /// Returns true if the peer is passed over.
    pub(crate) fn passes_over(&self, peer: usize, now: Duration) -> bool {
        self.passed_over & bit(peer) != 0 && self.pauses.get(peer).is_some_and(|pause| now < pause.end)
    }

    /// Notes that a peer is being connected, out of its turn.
    pub(crate) fn connects(&mut self, peer: usize) {
        self.linked |= bit(peer);
    }

    /// Notes that a peer is connected.
    pub(crate) fn opened(&mut self, peer: usize, now: Duration) {
        let Some(pause) = self.pauses.get_mut(peer) else { return };
        pause.well_since = now;
        self.open |= bit(peer);
        self.passed_over &= !bit(peer);
    }

    /// Notes that a peer is connected no more.
    pub(crate) fn closed(&mut self, peer: usize, now: Duration) {
        self.forgive(peer, now);
        self.linked &= !bit(peer);
        self.open &= !bit(peer);
    }

    /// Notes that a peer cannot be reached, or takes no calls. While it is passed over, this is no further failure.
    pub(crate) fn failed(&mut self, peer: usize, now: Duration) {
        self.end_pauses(now);
        if self.passed_over & bit(peer) != 0 {
            return;
        }
        self.forgive(peer, now);
        let Some(pause) = self.pauses.get_mut(peer) else { return };
        pause.length = (2 * pause.length).clamp(FIRST, LONGEST);
        pause.end = now + pause.length;
        pause.well_since = pause.end;
        self.passed_over |= bit(peer);
        self.due = self.due.min(pause.end);
    }

    /// Forgets the failures of a peer that has been well for as long as it was passed over.
    fn forgive(&mut self, peer: usize, now: Duration) {
        let is_open = self.is_open(peer);
        if let Some(pause) = self.pauses.get_mut(peer)
            && is_open
            && now.saturating_sub(pause.well_since) >= pause.length
        {
            pause.length = Duration::ZERO;
        }
    }

    fn end_pauses(&mut self, now: Duration) {
        if self.passed_over == 0 || now < self.due {
            return;
        }
        self.due = Duration::MAX;
        for (peer, pause) in self.pauses.iter().enumerate() {
            if pause.end <= now {
                self.passed_over &= !bit(peer);
            } else if self.passed_over & bit(peer) != 0 {
                self.due = self.due.min(pause.end);
            }
        }
    }

    /// Returns the next draw, as the generator SplitMix64 makes them.
    fn draw(&mut self) -> u64 {
        self.draws = self.draws.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.draws ^ (self.draws >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}

fn bit(peer: usize) -> u64 {
    1 << (peer % 64)
}

/// Returns a number below `count` for a draw.
fn scaled(draw: u32, count: u32) -> u32 {
    ((u64::from(draw) * u64::from(count)) >> 32) as u32
}

/// Returns the member of a set at a place below its size.
fn nth(mut set: u64, place: u32) -> usize {
    for _ in 0..place {
        set &= set - 1;
    }
    set.trailing_zeros() as usize
}

#[cfg(test)]
mod tests;
