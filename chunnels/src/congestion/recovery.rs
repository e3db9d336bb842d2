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

/// A window in bytes, for [`may_grow`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Used {
    pub(super) window: u64,
    /// The size of a packet in bytes.
    pub(super) packet: u64,
    pub(super) is_slow_start: bool,
}

impl Used {
    /// Returns true if the sender used this window (RFC 9002, section 7.8): packets held it up, and not a lack of data.
    ///
    /// Paced packets do not fill a window completely, and in slow start, where the window doubles while a pace of 5/4 sends
    /// them, half a window is all that can be in flight.
    fn by(self, flow: &Flow) -> bool {
        let share = if self.is_slow_start { 5 } else { 9 };
        !flow.is_app_limited
            || flow.most_in_flight.saturating_add(2 * self.packet) >= self.window / 10 * share
    }
}

/// Returns true if the window may grow by the bytes that `ack` acknowledges.
pub(super) fn may_grow(period: &RecoveryPeriod, ack: &Ack, flow: &Flow, used: Used) -> bool {
    ack.bytes_delivered() > 0 && used.by(flow) && !period.holds(ack)
}
