//! The recovery period: one reduction for all losses of one round trip.

use super::{Ack, Flow};
use std::time::Duration;

/// The time of the last reduction of the window (RFC 9002, section 7.3.2).
#[derive(Debug, Default)]
pub(super) struct RecoveryPeriod {
    start: Option<Duration>,
}

impl RecoveryPeriod {
    /// Returns true if the losses or marks in `ack` require a reduction, which then begins a new period.
    /// Packets sent before the current period require none.
    pub(super) fn begins(&mut self, ack: &Ack) -> bool {
        let marked = (ack.ecn_packets > 0).then_some(ack.newest_acked_sent).flatten();
        let Some(sent) = ack.newest_lost_sent.max(marked) else { return false };
        if self.covers(sent) {
            return false;
        }
        self.start = Some(ack.now);
        true
    }

    /// Returns true if `ack` is for packets sent before the period began, for which the window does not grow.
    pub(super) fn holds(&self, ack: &Ack) -> bool {
        ack.newest_acked_sent.is_none_or(|sent| self.covers(sent))
    }

    /// Ends the period, after a time-out.
    pub(super) fn end(&mut self) {
        self.start = None;
    }

    fn covers(&self, sent: Duration) -> bool {
        self.start.is_some_and(|start| sent <= start)
    }
}

/// Returns true if the window may grow by the bytes that `ack` acknowledges.
pub(super) fn may_grow(period: &RecoveryPeriod, ack: &Ack, flow: &Flow) -> bool {
    ack.bytes_delivered() > 0 && !flow.is_window_unused && !period.holds(ack)
}
