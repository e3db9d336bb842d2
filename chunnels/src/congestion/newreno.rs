//! NewReno.

use super::algorithm::{initial_window, min_window};
use super::recovery::{RecoveryPeriod, may_grow};
use super::{Ack, Algorithm, CongestionControl, Flow};

/// NewReno as in RFC 9002, appendix B: the window doubles each round trip until a loss, then halves, then
/// grows by one packet each round trip.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NewReno;

impl Algorithm for NewReno {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(NewRenoState {
            packet,
            window: initial_window(packet),
            threshold: u64::MAX,
            carry: 0,
            period: RecoveryPeriod::default(),
        })
    }
}

#[derive(Debug)]
struct NewRenoState {
    packet: u64,
    window: u64,
    /// The window at which slow start ends.
    threshold: u64,
    /// Growth of less than a byte, in parts of the window.
    carry: u128,
    period: RecoveryPeriod,
}

impl NewRenoState {
    fn grow(&mut self, bytes: u64) {
        if self.window < self.threshold {
            self.window += bytes;
            return;
        }
        // The growth is in bytes, and carries the remainder: in steps of packets, or rounded down, small
        // windows would grow too slowly.
        self.carry += u128::from(self.packet) * u128::from(bytes);
        let window = u128::from(self.window);
        self.window = self.window.saturating_add(u64::try_from(self.carry / window).unwrap_or(u64::MAX));
        self.carry %= window;
    }
}

impl CongestionControl for NewRenoState {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        if may_grow(&self.period, ack, flow) {
            self.grow(ack.bytes_delivered());
        }
        if self.period.begins(ack) {
            self.threshold = (self.window / 2).max(min_window(self.packet));
            self.window = self.threshold;
            self.carry = 0;
        }
        if flow.was_timeout {
            self.window = min_window(self.packet);
            self.period.end();
        }
    }

    fn window(&self) -> u64 {
        self.window
    }
}
