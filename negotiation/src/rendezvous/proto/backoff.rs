//! How long policies wait after an upgrade that came to nothing.

use super::record::Record;

/// How many ticks the policies wait after the first: a lease.
const FIRST: u16 = 3;

/// How often that doubles: up to 32 leases.
const DOUBLINGS: u8 = 5;

/// How long the policies hold back what they wish for.
///
/// That an upgrade came to nothing is no decision against its stack: whoever did not answer in time may have been cut off, or the
/// store may have been, and who refused may have had no memory left. So they wish for it again, but ever more rarely, since
/// nobody can join while an upgrade is under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Backoff {
    /// The last round that came to nothing, as far as it is known.
    round: u64,
    /// How many in a row.
    count: u8,
    /// For how many ticks more to wait.
    wait: u16,
}

impl Backoff {
    /// Others are there now, or the same have staged something: what came to nothing before says nothing any more.
    pub(super) fn begin_anew(&mut self, record: Option<&Record>) {
        let round = record.and_then(refused).unwrap_or(self.round);
        *self = Self { round, ..Self::default() };
    }

    /// Takes note of what the record says.
    pub(super) fn learn(&mut self, record: &Record) {
        let Some(round) = refused(record).filter(|round| *round != self.round) else { return };
        self.round = round;
        self.wait = FIRST << self.count;
        self.count = (self.count + 1).min(DOUBLINGS);
    }

    /// A third of a lease has passed. Whether that was the last one to wait for.
    pub(super) fn tick(&mut self) -> bool {
        let is_waiting = self.holds_back();
        self.wait = self.wait.saturating_sub(1);
        is_waiting && !self.holds_back()
    }

    pub(super) fn holds_back(&self) -> bool {
        self.wait > 0
    }
}

/// The round of the latest upgrade that came to nothing.
fn refused(record: &Record) -> Option<u64> {
    record.refusal.as_ref().map(|refusal| refusal.round)
}
