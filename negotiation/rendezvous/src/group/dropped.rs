//! The messages that a participant drops below its stack, by reason.

use bertha_core::{ConnectContext, DropCounter, DropRegistry, Drops};

/// The counters of the link, and those of the Chunnels on it.
pub(crate) struct Dropped {
    /// The counters of the Chunnels of all rounds.
    pub(super) by_chunnels: DropRegistry,
    /// Without the proof that it needs, or with one that was used; too short; or of one sender more than are counted.
    pub(super) forged: DropCounter,
    /// Of a round that is over, or kept for one that did not begin.
    pub(super) late: DropCounter,
    /// More than wait for receivers.
    pub(super) without_room: DropCounter,
    /// Come while this end leaves.
    pub(super) after_end: DropCounter,
    /// The same counters for the report.
    by_link: DropRegistry,
}

impl Dropped {
    pub(super) fn new() -> Self {
        let by_link = DropRegistry::new();
        let counter =
            |reason| ConnectContext::<()>::none().with_drops(&by_link).counts_drops("GroupLink", reason);
        Self {
            by_chunnels: DropRegistry::new(),
            forged: counter("forged or malformed"),
            late: counter("late"),
            without_room: counter("without room"),
            after_end: counter("after the end"),
            by_link,
        }
    }

    /// All messages that the link has dropped.
    pub(super) fn by_link(&self) -> u64 {
        self.by_link.drops().total()
    }

    /// Those of the link and of the Chunnels, by layer and reason.
    pub(super) fn report(&self) -> Drops {
        let mut drops = self.by_link.drops();
        drops += &self.by_chunnels.drops();
        drops
    }
}
