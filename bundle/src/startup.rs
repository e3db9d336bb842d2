//! The size of epochs until the sendbox has told its own.

use crate::epoch::EpochSize;
use std::time::Duration;

/// Time after which the size is a packet again, for a sendbox that comes late.
const PERIOD: Duration = Duration::from_secs(1);

/// Number of acknowledgements after which the size doubles.
const DOUBLING: u64 = 64;

/// The size of epochs at a receivebox whose sendbox has not spoken yet.
///
/// Each period begins with the smallest size, so that a sendbox of any size hears of its boundaries. A flood of packets, which an attacker
/// may send, gets 64 acknowledgements more for each doubling of its number.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Startup {
    began: Duration,
    size: EpochSize,
    /// Number of acknowledgements in this period.
    acknowledgements: u64,
}

impl Startup {
    /// Returns the size at `now`.
    pub(crate) fn size(&mut self, now: Duration) -> EpochSize {
        if now.saturating_sub(self.began) >= PERIOD {
            *self = Self { began: now, ..Self::default() };
        }
        self.size
    }

    /// Records that a boundary has been acknowledged.
    pub(crate) fn on_acknowledgement(&mut self) {
        self.acknowledgements += 1;
        if self.acknowledgements.is_multiple_of(DOUBLING) {
            self.size = self.size.doubled();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::mix;

    /// Returns the number of packets that are acknowledged out of so many at a time.
    fn acknowledged(startup: &mut Startup, now: Duration, packets: u64) -> u64 {
        let mut count = 0;
        for number in 0..packets {
            if startup.size(now).divides(mix(0, number)) {
                startup.on_acknowledgement();
                count += 1;
            }
        }
        count
    }

    #[test]
    fn a_flood_gets_ever_fewer_acknowledgements_and_a_later_packet_its_own() {
        let mut startup = Startup::default();
        assert_eq!(acknowledged(&mut startup, Duration::ZERO, DOUBLING), DOUBLING);
        // 100,000 packets are about ten doublings more.
        let flood = acknowledged(&mut startup, Duration::from_millis(999), 100_000);
        assert!((9 * DOUBLING..13 * DOUBLING).contains(&flood), "{flood}");
        assert_eq!(acknowledged(&mut startup, PERIOD, 1), 1);
    }
}
