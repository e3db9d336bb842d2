//! The measurements that a learner sees.

use crate::path::{RATE, ROUND_TRIP};
use serde::Serialize;
use std::time::Duration;

/// The measurements of a step, which is a round trip of the empty path or a little longer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Observation {
    /// The share of the link that was used.
    pub throughput: f64,
    /// The time that the queue added to the shortest round trip of the step, as a share of a round trip without a queue.
    pub queue: f64,
    /// The packets that were found lost.
    pub lost: u64,
    /// The window of the step, in packets.
    pub window: f64,
}

impl Observation {
    /// Returns the measurements of a step that took `time`, in which `acked` bytes arrived and `rtt` was the shortest round trip.
    pub(crate) fn of(acked: u64, lost: u64, rtt: Duration, time: Duration, window: f64) -> Self {
        Self {
            throughput: acked as f64 / (RATE as f64 * time.as_secs_f64().max(1e-6)),
            queue: rtt.saturating_sub(ROUND_TRIP).as_secs_f64() / ROUND_TRIP.as_secs_f64(),
            lost,
            window,
        }
    }

    /// Returns the reward, which is 1 for a full link and an empty queue, and at least -2: the queue holds two round trips.
    pub fn reward(&self) -> f64 {
        self.throughput - self.queue.min(2.0)
    }
}
