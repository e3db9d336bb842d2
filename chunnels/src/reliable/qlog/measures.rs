//! The measures of recovery and congestion control at one moment.

use std::time::Duration;

/// The measures of recovery and congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::reliable) struct Metrics {
    pub(in crate::reliable) min_rtt: Duration,
    pub(in crate::reliable) smoothed_rtt: Duration,
    pub(in crate::reliable) latest_rtt: Duration,
    pub(in crate::reliable) rtt_variance: Duration,
    /// Consecutive time-outs.
    pub(in crate::reliable) timeouts: u32,
    /// The congestion window, in bytes.
    pub(in crate::reliable) window: u64,
    pub(in crate::reliable) bytes_in_flight: u64,
    pub(in crate::reliable) packets_in_flight: u64,
    /// The pacing rate, in bytes per second.
    pub(in crate::reliable) rate: u64,
}
