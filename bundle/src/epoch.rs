//! The size of epochs.

use std::time::Duration;

/// The share of the shortest round trip that an epoch takes.
const SHARE: f64 = 0.25;

/// The size of epochs in packets: a power of two. Each boundary of a size is a boundary of all smaller sizes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct EpochSize {
    exponent: u8,
}

impl EpochSize {
    /// The largest exponent: 65,536 packets, of which no path holds four times as many.
    const LARGEST: u8 = 16;

    /// Returns the size with this exponent, if there is one.
    pub(crate) fn from_exponent(exponent: u8) -> Option<Self> {
        (exponent <= Self::LARGEST).then_some(Self { exponent })
    }

    pub(crate) fn exponent(self) -> u8 {
        self.exponent
    }

    /// Returns the next larger size, if there is one, and the largest otherwise.
    pub(crate) fn doubled(self) -> Self {
        Self { exponent: (self.exponent + 1).min(Self::LARGEST) }
    }

    /// Returns the size for a shortest round trip and this number of packets per second.
    pub(crate) fn fitting(shortest: Duration, packets_per_second: f64) -> Self {
        // The conversion saturates, and makes zero of what is no number.
        let packets = (SHARE * shortest.as_secs_f64() * packets_per_second) as u64;
        let exponent = packets.checked_ilog2().unwrap_or(0).min(u32::from(Self::LARGEST));
        Self { exponent: exponent as u8 }
    }

    /// Returns true if a packet with this hash is a boundary.
    pub(crate) fn divides(self, hash: u64) -> bool {
        hash.trailing_zeros() >= u32::from(self.exponent)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_size_is_rounded_down_to_a_power_of_two() {
        let size = |rate| EpochSize::fitting(Duration::from_millis(50), rate).exponent();
        // A quarter of 50 ms holds 100 packets at 8,000 packets per second.
        assert_eq!([8_000.0, 10_239.0, 10_240.0].map(size), [6, 6, 7]);
        assert_eq!([0.0, 79.0, f64::NAN, f64::INFINITY].map(size), [0, 0, 0, 16]);
    }

    #[test]
    fn boundaries_of_a_size_are_boundaries_of_smaller_sizes() {
        let size = |exponent| EpochSize::from_exponent(exponent).unwrap();
        for hash in 0..=u64::from(u16::MAX) {
            for exponent in 1..=16 {
                assert!(!size(exponent).divides(hash) || size(exponent - 1).divides(hash));
                assert_eq!(size(exponent).divides(hash), hash.is_multiple_of(1 << exponent));
            }
        }
        assert_eq!(EpochSize::from_exponent(17), None);
        assert_eq!([0, 15, 16].map(|exponent| size(exponent).doubled().exponent()), [1, 16, 16]);
    }
}
