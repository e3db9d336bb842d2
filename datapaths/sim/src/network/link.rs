//! The faults and delays that datagrams meet.

use crate::rng::Rng;
use std::time::Duration;

/// The faults of a direction between two hosts. Rates are probabilities per datagram, from 0 to 1.
///
/// ```
/// # use bertha_datapath_sim::Link;
/// let lossy = Link { loss: 0.2, ..Link::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Link {
    /// Rate of lost datagrams.
    pub loss: f64,
    /// Rate of datagrams that arrive twice.
    pub duplication: f64,
    /// Rate of datagrams that take up to [`detour`](Self::detour) longer, so that other datagrams overtake
    /// them.
    pub reordering: f64,
    /// Longest additional time of a reordered datagram.
    pub detour: Duration,
    /// Time that every datagram takes.
    pub delay: Duration,
    /// Longest additional time that any datagram may take.
    pub jitter: Duration,
    /// Rate of datagrams that arrive with some bits flipped, or cut short.
    pub corruption: f64,
    /// Size of the largest datagram, in bytes of payload. Sending a larger datagram fails.
    pub mtu: usize,
    /// The limit of the rate, if there is one.
    pub bottleneck: Option<Bottleneck>,
}

/// A place on the way that sends datagrams one after another, and queues datagrams that have to wait.
///
/// The bottleneck comes before the delay and the faults of the link. Only payloads take time and room.
/// Injected datagrams bypass it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bottleneck {
    /// Rate in bytes per second.
    pub rate: u64,
    /// Largest number of waiting bytes, including the datagram that is being sent. A datagram that finds no
    /// room is dropped.
    pub queue: u64,
}

impl Bottleneck {
    /// Returns the time for which a datagram of `len` bytes is in the bottleneck, if the datagrams before it
    /// are gone after `busy`. Returns `None` if there is no room.
    pub(super) fn admit(&self, len: usize, busy: Duration) -> Option<Duration> {
        let nanos = |bytes: u64| u128::from(bytes) * 1_000_000_000 / u128::from(self.rate.max(1));
        let stay = busy.as_nanos() + nanos(len as u64);
        // A datagram that is larger than the whole queue passes if it need not wait.
        let fits = busy.is_zero() || stay <= nanos(self.queue);
        fits.then(|| Duration::from_nanos(u64::try_from(stay).unwrap_or(u64::MAX)))
    }
}

impl Default for Link {
    /// Returns a link with a delay of a tenth of a millisecond, the largest MTU of UDP, and no faults.
    fn default() -> Self {
        Self {
            loss: 0.0,
            duplication: 0.0,
            reordering: 0.0,
            detour: Duration::from_millis(10),
            delay: Duration::from_micros(100),
            jitter: Duration::ZERO,
            corruption: 0.0,
            mtu: 65_507,
            bottleneck: None,
        }
    }
}

impl Link {
    /// Creates a link that loses, duplicates and reorders datagrams at this rate each, with a jitter as large
    /// as the delay.
    pub fn poor(rate: f64) -> Self {
        let good = Self::default();
        Self { loss: rate, duplication: rate, reordering: rate, jitter: good.delay, ..good }
    }

    /// Draws the time that a datagram takes. Returns it, and true if the datagram was sent on a detour.
    pub(super) fn draw_delay(&self, rng: &mut Rng) -> (Duration, bool) {
        let mut delay = self.delay + rng.up_to(self.jitter);
        let reordered = rng.chance(self.reordering);
        if reordered {
            delay += rng.up_to(self.detour);
        }
        (delay, reordered)
    }
}

/// Flips up to four bits of `payload`, or returns a length to cut it to.
pub(super) fn corrupt(payload: &mut [u8], rng: &mut Rng) -> usize {
    let len = payload.len();
    if len == 0 || rng.chance(0.25) {
        return rng.below(len);
    }
    for _ in 0..=rng.below(4) {
        payload[rng.below(len)] ^= 1 << rng.below(8);
    }
    len
}
