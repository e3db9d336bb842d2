//! A constant window.

use super::{Ack, Algorithm, CongestionControl, Flow};

/// A constant window in bytes, independent of congestion: for dedicated links, and for tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FixedWindow(
    /// The window in bytes, at least two packets.
    pub u64,
);

impl Algorithm for FixedWindow {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        Box::new(Self(self.0.max(super::algorithm::min_window(packet))))
    }
}

impl CongestionControl for FixedWindow {
    fn on_ack(&mut self, _: &Ack, _: &Flow) {}

    fn window(&self) -> u64 {
        self.0
    }

    /// Returns `None`: the flow is not paced, so that it uses the whole window.
    fn rate(&self) -> Option<u64> {
        Some(u64::MAX)
    }
}
