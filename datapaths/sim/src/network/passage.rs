//! The way of one datagram over its link.

use std::time::Duration;

/// The outcome for a datagram that arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// The time that it takes.
    pub(super) delay: Duration,
    /// Whether it was marked for congestion.
    pub(super) is_marked: bool,
}
