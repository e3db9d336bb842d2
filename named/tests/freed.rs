//! The wait for the address of a listener that is closed.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_named::Freed;
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::thread;
use std::time::{Duration, Instant};

/// A listener that takes its time to let go of the address.
struct Slow(Arc<AtomicBool>);

impl Drop for Slow {
    fn drop(&mut self) {
        thread::sleep(Duration::from_millis(50));
        self.0.store(true, SeqCst);
    }
}

#[test]
fn the_listener_of_a_dropped_task_is_gone() {
    for is_polled in [false, true] {
        let is_gone = Arc::new(AtomicBool::new(false));
        let slow = Slow(is_gone.clone());
        let (in_use, freed) = Freed::after_use();
        let mut accepting = Box::pin(in_use.by(async move {
            let _slow = slow;
            pending::<()>().await
        }));
        if is_polled {
            let waker = std::task::Waker::noop();
            assert!(accepting.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        }
        let dropping = thread::spawn(move || drop(accepting));
        freed.wait();
        assert!(is_gone.load(SeqCst), "polled: {is_polled}");
        dropping.join().unwrap();
    }
}

#[test]
fn a_task_that_hangs_is_waited_for_for_a_bounded_time() {
    let (in_use, freed) = Freed::after_use();
    let _hangs = in_use.by(pending::<()>());
    let begin = Instant::now();
    freed.wait();
    assert!(begin.elapsed() >= Duration::from_secs(1));
}
