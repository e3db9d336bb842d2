//! The display of a file's progress.

use bertha_file_transfer::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::convert::Infallible;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

const REFRESH: Duration = Duration::from_millis(100);

/// Awaits `work` and shows its progress towards `total` bytes on standard error, if that is a terminal.
pub(super) async fn with_progress_bar<T>(
    total: u64,
    progress: &Progress,
    work: impl Future<Output = T>,
) -> T {
    let target = ProgressDrawTarget::stderr();
    if target.is_hidden() {
        return work.await;
    }
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = "[{bar:40}] {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    // Dropping `stop_on_drop` disconnects the channel, so the thread ends at once, also if this future is
    // dropped.
    let (stop_on_drop, stopped) = mpsc::channel::<Infallible>();
    let progress = progress.clone();
    // The display has a thread of its own, since terminals block.
    let showing = thread::spawn(move || {
        while stopped.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(progress.get());
        }
        bar.finish_and_clear();
    });
    let output = work.await;
    drop(stop_on_drop);
    // The join blocks for at most one write to the terminal. The caller then has the terminal for itself.
    let _ = showing.join();
    output
}
