//! Shows how far a phase has come.

use std::future::Future;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::driver::Counter;

const REFRESH: Duration = Duration::from_millis(100);

/// Awaits `phase` and shows `counter` on its way to `total` meanwhile, on standard error, if that is a terminal.
/// Without a total, shows a count.
pub async fn watch<T>(
    name: &'static str,
    total: Option<u64>,
    counter: &Counter,
    phase: impl Future<Output = T>,
) -> T {
    let target = ProgressDrawTarget::stderr();
    if target.is_hidden() {
        return phase.await;
    }
    let bar = ProgressBar::with_draw_target(total, target).with_prefix(name);
    let template = match total {
        Some(_) => "{prefix:5} [{bar:40}] {percent:>3} %  {human_pos} of {human_len}  {per_sec}  {eta}",
        None => "{prefix:5} {spinner} {human_pos}  {per_sec}  {elapsed}",
    };
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style.progress_chars("=> "));
    }
    let before = counter.get();
    let mut phase = std::pin::pin!(phase);
    let mut refresh = tokio::time::interval(REFRESH);
    loop {
        tokio::select! {
            output = &mut phase => {
                bar.finish_and_clear();
                return output;
            }
            _ = refresh.tick() => bar.set_position(counter.get() - before),
        }
    }
}
