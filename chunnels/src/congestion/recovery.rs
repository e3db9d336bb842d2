//! The recovery period: one reduction for all that was lost in one round trip.

use super::{Ack, Flow};
use std::time::Duration;

/// When the window was last reduced (RFC 9002, section 7.3.2).
#[derive(Debug, Default)]
pub(super) struct RecoveryPeriod {
    start: Option<Duration>,
}

impl RecoveryPeriod {
    /// Whether the loss or the marks in `ack` ask for a reduction, which then is the start of a new period. What was
    /// sent before the current period began asks for none.
    pub(super) fn begins(&mut self, ack: &Ack) -> bool {
        let marked = (ack.ecn_packets > 0).then_some(ack.newest_acked_sent).flatten();
        let Some(sent) = ack.newest_lost_sent.max(marked) else { return false };
        if self.covers(sent) {
            return false;
        }
        self.start = Some(ack.now);
        true
    }

    /// Whether `ack` is for something that was sent before the period began, so that the window stays.
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

/// Whether the window may grow by what `ack` acknowledges.
pub(super) fn may_grow(period: &RecoveryPeriod, ack: &Ack, flow: &Flow) -> bool {
    ack.bytes_delivered() > 0 && !flow.is_app_limited && !period.holds(ack)
}
