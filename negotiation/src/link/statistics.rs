//! The state of a link, for people who ask what a connection does.

use super::LinkShared;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use bertha_core::{Base, Buf, Connection, Statistics};
use std::time::Duration;

/// The state of the link, on which the stack of a connection stands.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LinkStatistics {
    /// True if messages can be sent and received.
    pub is_usable: bool,
    /// Number of times that the connection has changed its stack.
    pub changes: u64,
    /// True while a change of the stack is under way: the stacks of two epochs, or of more, are in place.
    pub is_changing: bool,
    /// Number of receptions that showed that the peer is there: messages, or bursts of messages. It wraps
    /// around after 2^32.
    pub receptions: u32,
    /// Time without a message of the peer after which the connection ends.
    pub idle_timeout: Duration,
    /// Largest message of the datapath, in bytes.
    pub mtu: usize,
    /// Bytes of a message that the headers of all layers take.
    pub headers: usize,
    /// Number of datagrams that arrived with a mark for congestion, while marks are counted.
    pub marked: u64,
}

impl LayerStatistics for LinkStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("usable", Value::Is(self.is_usable)),
            ("changes", Value::Total(self.changes)),
            ("changing", Value::Is(self.is_changing)),
            ("receptions", Value::Total(self.receptions.into())),
            ("idle_timeout", Value::Time(self.idle_timeout)),
            ("mtu", Value::Bytes(self.mtu as u64)),
            ("headers", Value::Bytes(self.headers as u64)),
            ("marked", Value::Total(self.marked)),
        ]
    }
}

impl<C: Connection<Data = Buf>> Observed for LinkShared<C> {
    fn observe(&self, into: &mut Statistics) {
        self.base.observe(into);
        let base = self.base.base();
        let changes = self.agreement().map_or(0, |agreement| agreement.round());
        into.add(
            "Link",
            LinkStatistics {
                is_usable: self.lifecycle.is_usable(),
                changes,
                is_changing: self.is_changing(),
                receptions: self.lifecycle.arrivals(),
                idle_timeout: self.idle_timeout,
                mtu: base.mtu(),
                headers: base.reserved(),
                marked: base.marks().datagrams,
            },
        );
    }
}
