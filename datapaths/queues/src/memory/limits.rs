//! The promises about a topic.

use crate::Ordering;
use std::time::Duration;

/// The promises about a topic, from the service that created it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    pub(super) ordering: Ordering,
    pub(super) has_multicast: bool,
    pub(super) redelivery: Duration,
    pub(super) dead_letters_after: Option<u32>,
}
