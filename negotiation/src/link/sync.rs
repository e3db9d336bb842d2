//! The atomics of [`last_waiter`](super::last_waiter); the tests under loom put loom's in their place.

pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
