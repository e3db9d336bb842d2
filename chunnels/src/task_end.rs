//! Tasks whose end is noticed.
//!
//! A runtime that ends drops its tasks in the middle. A connection that waits for such a task would wait for
//! ever.

use bertha_core::{Error, ErrorKind, Runtime};

/// Spawns `task`, and calls `on_end` once it has ended: completed, aborted, or dropped by a runtime that ends.
pub(crate) fn spawn<R: Runtime>(
    runtime: &R,
    task: impl Future<Output = ()> + Send + 'static,
    on_end: impl FnOnce() + Send + 'static,
) -> R::Task {
    // The value is captured, since a runtime that has ended already drops the task before it is polled.
    let end = OnDrop(Some(on_end));
    runtime.spawn(async move {
        let _end = end;
        task.await;
    })
}

struct OnDrop<F: FnOnce()>(Option<F>);

impl<F: FnOnce()> Drop for OnDrop<F> {
    fn drop(&mut self) {
        if let Some(on_end) = self.0.take() {
            on_end();
        }
    }
}

/// Returns the error of a connection whose task was dropped with its runtime.
pub(crate) fn runtime_ended() -> Error {
    Error::new(ErrorKind::Closed, "the runtime of this connection has ended")
}
