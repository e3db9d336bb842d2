//! The policy by which a receiver waits.

use std::time::Duration;

/// The policy by which `recv`, `recv_batch` and `accept` wait.
///
/// A wake-up through the kernel takes tens of microseconds, a poll less than one microsecond; polling takes
/// the processor from other programs. A spinning call goes through the scheduler of the runtime: other tasks
/// of its worker run in between.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Waiting {
    /// The call sleeps until the kernel reports that something arrived. This is the default.
    #[default]
    Park,
    /// The call polls again and again. This policy suits a thread with a core of its own.
    Spin,
    /// The call polls again and again for a while, then sleeps. After several futile spins in a row, as they
    /// occur where both ends share a core, a call spins only now and then, to find out whether spinning pays
    /// again.
    Adaptive {
        /// Time of polling before the call sleeps. Somewhat more than a usual round trip is a good value.
        spin_for: Duration,
    },
}
