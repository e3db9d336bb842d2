//! The path of the thesis, 48 Mbit/s and 50 ms, and the bounds of an episode on it.

use std::time::Duration;

/// Size of a packet in bytes, and of a message that fills it.
pub(crate) const PACKET: usize = 1_352;
pub(crate) const MESSAGE: usize = 1_337;

/// The rate in bytes per second, and the round trip of the empty path.
pub(crate) const RATE: u64 = 6_000_000;
pub(crate) const ROUND_TRIP: Duration = Duration::from_millis(50);

/// The window that fills the link without a queue, in packets.
pub const PRODUCT: f64 = RATE as f64 * 0.05 / PACKET as f64;

/// Number of steps of an episode.
pub const STEPS: usize = 100;

/// The smallest and the largest window that an action may choose, in packets.
pub const WINDOWS: [f64; 2] = [2.0, 10_000.0];

/// The window before the first action, in packets.
pub(crate) const START: f64 = 10.0;
