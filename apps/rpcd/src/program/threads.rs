//! The threads of the daemon.

use std::sync::{Arc, Barrier};
use std::time::Duration;
use tokio::runtime::Builder;
use tokio::task::spawn_blocking;

/// Number of threads that read schemas and look up names.
const BESIDE: usize = 2;

/// Longer than a daemon runs.
const ALWAYS: Duration = Duration::from_secs(u32::MAX as u64);

/// Returns the builder of the daemon's runtime: so many threads for calls, and few beside them, which stay.
pub(crate) fn runtime(threads: usize) -> Builder {
    // A single thread takes calls as they come. Several have queues of work, and wake each other.
    let mut builder = if threads == 1 { Builder::new_current_thread() } else { Builder::new_multi_thread() };
    builder.worker_threads(threads).max_blocking_threads(BESIDE).thread_keep_alive(ALWAYS);
    builder
}

/// Starts the threads beside that of the calls, before anyone can attach.
///
/// Applications can take all mappings that the system gives a process, and a thread that begins without one for its stack ends the process
/// (`sigaltstack` in Rust's standard library).
pub(crate) async fn start() {
    let together = Arc::new(Barrier::new(BESIDE));
    let starting = (0..BESIDE).map(|_| {
        let together = Arc::clone(&together);
        spawn_blocking(move || together.wait())
    });
    for started in starting.collect::<Vec<_>>() {
        // The threads have nothing to fail at.
        let _leader = started.await;
    }
}
