//! Upgrades that came to nothing since somebody did not stage them in time.

use super::record::{Record, Refusal};

/// How many ticks the policies wait after the first: a lease.
const FIRST: u16 = 3;

/// How often that doubles: up to 32 leases.
const DOUBLINGS: u8 = 5;

/// How long the policies hold back what they wish for.
///
/// That time was up is no decision: whoever did not answer may have been cut off, or the store may have been. So they wish for it
/// again, but ever more rarely, since nobody can join while an upgrade is under way.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(super) struct Late {
    /// The last round that came to nothing like this, as far as it is known.
    round: u64,
    /// How many in a row.
    count: u8,
    /// For how many ticks more to wait.
    wait: u16,
}

impl Late {
    /// Others are there now, or the same have staged something: what was late before says nothing any more.
    pub(super) fn begin_anew(&mut self, record: Option<&Record>) {
        let round = record.and_then(late).map_or(self.round, |refusal| refusal.round);
        *self = Self { round, ..Self::default() };
    }

    /// Takes note of what the record says.
    pub(super) fn learn(&mut self, record: &Record) {
        let Some(refusal) = late(record).filter(|refusal| refusal.round != self.round) else { return };
        self.round = refusal.round;
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

/// The latest upgrade that came to nothing, if nobody refused it.
fn late(record: &Record) -> Option<&Refusal> {
    record.refusal.as_ref().filter(|refusal| refusal.by.is_none())
}
