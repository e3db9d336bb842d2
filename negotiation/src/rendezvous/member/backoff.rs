//! The pause of policies after a failed upgrade.

use super::record::Record;

/// The first pause, in ticks: one lease.
const FIRST: u16 = 3;

/// The number of doublings: up to 32 leases.
const DOUBLINGS: u8 = 5;

/// The time for which policies hold back a proposal.
///
/// A failed upgrade is no decision against its stack: a participant that did not answer in time may have been
/// cut off, or the store may have been, and a participant that refused may have had no memory left. So
/// policies propose the stack again, but ever more rarely, since no participant can join while an upgrade is
/// under way. A round without a leader waits for the first of these pauses only.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backoff {
    /// The last failed round, as far as it is known.
    round: u64,
    /// The number of failed rounds in a row.
    count: u8,
    /// The ticks since the last failed round, up to the pause.
    waited: u16,
}

impl Backoff {
    /// Resets the pause: the participants have changed, or have staged a stack, so earlier failures say
    /// nothing any more.
    pub(super) fn begin_anew(&mut self, record: Option<&Record>) {
        let round = record.and_then(refused).unwrap_or(self.round);
        *self = Self { round, ..Self::default() };
    }

    /// Reads the record's last refusal.
    pub(super) fn learn(&mut self, record: &Record) {
        let Some(round) = refused(record).filter(|round| *round != self.round) else { return };
        self.round = round;
        self.count = (self.count + 1).min(DOUBLINGS + 1);
        self.waited = 0;
    }

    /// Records that a third of a lease has passed. Returns true if fewer proposals are held back than before.
    pub(super) fn tick(&mut self) -> bool {
        let before = (self.holds_back(), self.holds_back_leaders());
        self.waited = (self.waited + 1).min(self.wait());
        before != (self.holds_back(), self.holds_back_leaders())
    }

    pub(super) fn holds_back(&self) -> bool {
        self.waited < self.wait()
    }

    /// Returns true if even the proposal of a new leader has to wait.
    pub(super) fn holds_back_leaders(&self) -> bool {
        self.waited < self.wait().min(FIRST)
    }

    /// Returns the pause in ticks.
    fn wait(&self) -> u16 {
        self.count.checked_sub(1).map_or(0, |doublings| FIRST << doublings)
    }
}

/// Returns the round of the latest failed upgrade.
fn refused(record: &Record) -> Option<u64> {
    record.refusal.as_ref().map(|refusal| refusal.round)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendezvous::member::{Description, record::Refusal};

    /// Returns the numbers of ticks after which policies and a leader may propose, once this round has
    /// failed.
    fn waits(backoff: &mut Backoff, round: u64) -> (u16, u16) {
        let refusal = Some(Refusal { round, by: None, reason: String::new() });
        let stack = Description::of(&[], &[]).unwrap();
        backoff.learn(&Record { life: 1, round: 1, stack, leader: 1, last: round, proposal: None, refusal });
        let (mut ticks, mut leaders) = (0, 0);
        while backoff.holds_back() {
            leaders += u16::from(backoff.holds_back_leaders());
            ticks += 1;
            assert_eq!(backoff.tick(), ticks == FIRST || !backoff.holds_back());
        }
        assert!(!backoff.tick());
        (ticks, leaders)
    }

    #[test]
    fn pauses_double_and_leaders_wait_for_the_first_one_at_most() {
        let mut backoff = Backoff::default();
        assert!(!backoff.holds_back() && !backoff.tick());
        let waited: Vec<_> = (2..9).map(|round| waits(&mut backoff, round)).collect();
        assert_eq!(waited, [3, 6, 12, 24, 48, 96, 96].map(|ticks| (ticks, FIRST)));
        backoff.begin_anew(None);
        assert!(!backoff.holds_back());
        assert_eq!(waits(&mut backoff, 9), (3, 3));
    }
}
