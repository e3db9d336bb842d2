//! How a receiver waits.

use std::time::Duration;

/// How `recv`, `recv_batch` and `accept` wait.
///
/// A wake-up through the kernel takes tens of microseconds, a poll less than one; polling takes the processor from
/// others. Spinning goes through the scheduler of the runtime: other tasks of the same worker run in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// Sleep until the kernel reports that something arrived. The default.
    #[default]
    Park,
    /// Ask again and again. For a core of one's own.
    Spin,
    /// Ask again and again for a while, then sleep. Where that has not paid several times in a row, as where both ends
    /// share a core, it only tries once in a while whether it does by now.
    Adaptive {
        /// How long to ask before sleeping; somewhat longer than a usual round trip is a good value.
        spin_for: Duration,
    },
}
