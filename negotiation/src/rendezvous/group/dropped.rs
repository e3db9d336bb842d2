//! The messages that a participant drops below its stack, by reason.

use bertha_core::{ConnectContext, DropCounter, Drops, LayerRegistry};

/// The counters of the link and of the Chunnels on it.
pub(crate) struct Dropped {
    /// The counters of the Chunnels of all rounds.
    pub(super) by_chunnels: LayerRegistry,
    /// Messages without the required proof or with a used proof, messages that are too short, and messages of
    /// a sender for which no entry is left.
    pub(super) forged: DropCounter,
    /// Messages of a round that is over, and messages that were kept for a round that did not begin.
    pub(super) late: DropCounter,
    /// Messages that arrive when the queue for receivers is full.
    pub(super) without_room: DropCounter,
    /// Messages that arrive while this end leaves.
    pub(super) after_end: DropCounter,
    /// The counters of the link, for the report.
    by_link: LayerRegistry,
}

impl Dropped {
    pub(super) fn new() -> Self {
        let by_link = LayerRegistry::new();
        let counter =
            |reason| ConnectContext::<()>::none().with_registry(&by_link).counts_drops("GroupLink", reason);
        Self {
            by_chunnels: LayerRegistry::new(),
            forged: counter("forged or malformed"),
            late: counter("late"),
            without_room: counter("without room"),
            after_end: counter("after the end"),
            by_link,
        }
    }

    /// Returns the number of all messages that the link has dropped.
    pub(super) fn by_link(&self) -> u64 {
        self.by_link.drops().total()
    }

    /// Returns the dropped messages of the link and of the Chunnels, by layer and reason.
    pub(super) fn report(&self) -> Drops {
        let mut drops = self.by_link.drops();
        drops += &self.by_chunnels.drops();
        drops
    }
}
