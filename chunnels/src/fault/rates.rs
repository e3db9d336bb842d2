//! The rates of faults.

use std::time::Duration;

/// The probability of each fault, and the times of faults that delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Rates {
    pub(super) loss: f64,
    pub(super) duplication: f64,
    pub(super) reordering: f64,
    pub(super) delay: Duration,
    pub(super) detour: Duration,
}
