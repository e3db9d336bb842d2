//! Shows how far a file has come.

use bertha_file_transfer::Progress;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::pin::pin;
use std::time::Duration;

const REFRESH: Duration = Duration::from_millis(100);

/// Awaits `work` and shows its progress towards `total` bytes on standard error, if that is a terminal.
pub(super) async fn shown<T>(total: u64, progress: &Progress, work: impl Future<Output = T>) -> T {
    let target = ProgressDrawTarget::stderr();
    if target.is_hidden() {
        return work.await;
    }
    let bar = ProgressBar::with_draw_target(Some(total), target);
    let template = "[{bar:40}] {percent:>3} %  {bytes} of {total_bytes}  {bytes_per_sec}  {eta}";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    let mut work = pin!(work);
    let mut refresh = tokio::time::interval(REFRESH);
    loop {
        tokio::select! {
            output = &mut work => {
                bar.finish_and_clear();
                return output;
            }
            _ = refresh.tick() => bar.set_position(progress.get()),
        }
    }
}
