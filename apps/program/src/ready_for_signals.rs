//! A program that is ready for signals, for tests that send it a signal.

use std::path::PathBuf;
use std::time::Duration;
use std::{fs, thread};

/// Name of the thread that waits for signals.
pub(crate) const THREAD: &str = "termination";

/// Time between two looks.
const PAUSE: Duration = Duration::from_millis(2);

/// Waits until a process waits for signals, which it does on a thread of its own, or has ended. An earlier
/// signal would end the process without its code.
pub fn until_ready_for_signals(process: u32) {
    let tasks = PathBuf::from(format!("/proc/{process}/task"));
    while let Ok(threads) = fs::read_dir(&tasks) {
        let mut names = threads.flatten().map(|thread| fs::read_to_string(thread.path().join("comm")));
        if names.any(|name| name.is_ok_and(|name| name.trim() == THREAD)) {
            return;
        }
        thread::sleep(PAUSE);
    }
}
