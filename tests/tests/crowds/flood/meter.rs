//! Number of bytes that a thread has allocated and not freed. Each test runs server and clients on one
//! thread, so that allocations of the test harness's other threads are not counted.

use bertha_allocations::live_bytes;
use std::sync::{Mutex, MutexGuard, PoisonError};

static ALONE: Mutex<()> = Mutex::new(());

/// The count, for one test at a time: tests share the pools of buffers, so a test may free a buffer of
/// another test.
pub(crate) struct Meter(#[expect(dead_code, reason = "held, not read")] MutexGuard<'static, ()>);

impl Meter {
    /// Waits until no other test allocates.
    pub(crate) fn alone() -> Self {
        Self(ALONE.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of bytes that this thread has in use.
    pub(crate) fn live(&self) -> i64 {
        live_bytes()
    }
}

#[test]
fn the_meter_sees_what_is_kept() {
    let meter = Meter::alone();
    let before = meter.live();
    let kept = std::hint::black_box(vec![0u8; 1_000_000]);
    assert!(meter.live() - before >= 1_000_000);
    drop(kept);
    assert!(meter.live() - before < 1_000_000);
}
