//! The atomics of [`last_waiter`](super::last_waiter); tests under loom replace them by loom's.

#[cfg(all(test, loom))]
pub(super) use loom::sync::atomic::{AtomicUsize, Ordering};
#[cfg(not(all(test, loom)))]
pub(super) use std::sync::atomic::{AtomicUsize, Ordering};
