//! How far packets overtake each other, in the manner of RACK (RFC 8985, section 6.2).
//!
//! On a path that reorders, a packet that others have overtaken is most likely late and not lost. So once any was overtaken, only
//! time decides, and as much time as late packets have needed.

use std::time::Duration;

/// The number of losses, at least a round trip apart, after which the estimate is halved, unless packets are as late as before (RFC 8985
/// forgets after as many).
const QUIET: u32 = 16;

/// The reordering that was seen.
#[derive(Debug, Default)]
pub(super) struct Reordering {
    is_seen: bool,
    /// The longest time that a packet took from its sending to its acknowledgement although a later one was faster.
    longest: Duration,
    /// Losses since a packet took about as long, and the time of the last one that counts.
    quiet: u32,
    last_loss: Duration,
}

impl Reordering {
    /// Takes in that a packet which a later one had overtaken was acknowledged after `took`.
    pub(super) fn on_overtaken(&mut self, took: Duration) {
        self.is_seen = true;
        // A little less is as long: it must not be forgotten while packets still need it.
        if took >= self.longest / 2 {
            self.quiet = 0;
        }
        self.longest = self.longest.max(took);
    }

    /// Takes in that a packet which was sent at `sent` was lost.
    pub(super) fn on_lost(&mut self, sent: Duration, now: Duration) {
        if sent < self.last_loss {
            return;
        }
        self.last_loss = now;
        self.quiet += 1;
        if self.quiet >= QUIET {
            *self = Self { longest: self.longest / 2, last_loss: now, ..Self::default() };
        }
    }

    /// Returns true if a packet may count as lost for the number of later packets that have arrived (RFC 9002, section 6.1.1).
    pub(super) fn counts_packets(&self) -> bool {
        !self.is_seen
    }

    /// Returns the time after its sending at which a packet counts as lost, at least `usual`, and less than the time `persistent` after which
    /// the loss of all packets means persistent congestion.
    ///
    /// RFC 8985 adds at most a smoothed round trip. But the newest packet of an acknowledgement, which is the one that is measured,
    /// is a quick one where packets overtake each other, so that the smoothed time is too short for the others.
    pub(super) fn delay(&self, usual: Duration, persistent: Duration) -> Duration {
        usual.max(self.longest.min(persistent))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[test]
    fn it_lasts_while_packets_are_late_and_fades_when_they_are_not() {
        let mut reordering = Reordering::default();
        assert!(reordering.counts_packets());
        reordering.on_overtaken(ms(32));
        assert_eq!((reordering.counts_packets(), reordering.delay(ms(20), ms(40))), (false, ms(32)));
        assert_eq!((reordering.delay(ms(20), ms(30)), reordering.delay(ms(33), ms(40))), (ms(30), ms(33)));
        for loss in 1..100 {
            reordering.on_lost(ms(100 * loss), ms(100 * loss + 50));
            reordering.on_overtaken(ms(17));
        }
        assert_eq!(reordering.delay(ms(20), ms(40)), ms(32));
        for loss in 100..100 + u64::from(QUIET) {
            assert_eq!(reordering.delay(ms(20), ms(40)), ms(32));
            reordering.on_lost(ms(100 * loss), ms(100 * loss + 50));
            // Lost in the same round trip.
            reordering.on_lost(ms(100 * loss + 20), ms(100 * loss + 70));
        }
        assert_eq!((reordering.counts_packets(), reordering.delay(ms(10), ms(40))), (true, ms(16)));
    }

    #[test]
    fn half_as_late_is_as_late_and_a_packet_sent_at_the_last_loss_counts() {
        for (took, quiet) in [(16, 0), (15, 1)] {
            let mut reordering = Reordering::default();
            reordering.on_overtaken(ms(32));
            reordering.on_lost(ms(5), ms(9));
            reordering.on_overtaken(ms(took));
            assert_eq!((reordering.quiet, reordering.longest), (quiet, ms(32)));
            reordering.on_lost(ms(8), ms(10));
            assert_eq!(reordering.quiet, quiet, "it left before the last loss was known");
            reordering.on_lost(ms(9), ms(11));
            assert_eq!((reordering.quiet, reordering.last_loss), (quiet + 1, ms(11)));
        }
    }
}
