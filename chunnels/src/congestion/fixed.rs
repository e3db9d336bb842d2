//! A window that never changes.

use super::{Ack, Algorithm, CongestionControl, Flow};

/// Always the same window, in bytes, at whatever cost to others: for a link that one has to oneself, and for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWindow(
    /// The window in bytes. At least two packets are allowed whatever it says.
    pub u64,
);

impl Algorithm for FixedWindow {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(Self(self.0.max(super::algorithm::least_window(packet))))
    }
}

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &Ack, _: &Flow) {}

    fn window(&self) -> u64 {
        self.0
    }

    /// Unpaced: whoever fixes the window wants all of it.
    fn rate(&self) -> Option<u64> {
        Some(u64::MAX)
    }
}
