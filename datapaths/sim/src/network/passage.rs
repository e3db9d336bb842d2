//! The way of a datagram over its link.

use std::time::Duration;

/// The outcome for a datagram that arrives.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passage {
    /// Time that the datagram takes.
    pub(super) delay: Duration,
    /// True if the datagram was marked for congestion.
    pub(super) is_marked: bool,
}
