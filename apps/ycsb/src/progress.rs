//! The display of a phase's progress.

use std::convert::Infallible;
use std::future::Future;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::driver::Counter;

const REFRESH: Duration = Duration::from_millis(100);

/// Awaits `phase` and meanwhile shows `counter` on its way to `total`, on standard error, if it is a
/// terminal. Without a total, shows a count.
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
    let (working, is_done) = mpsc::channel::<Infallible>();
    let (counter, before) = (counter.clone(), counter.get());
    // The display has a thread of its own, since terminals block.
    let showing = thread::spawn(move || {
        while is_done.recv_timeout(REFRESH) == Err(RecvTimeoutError::Timeout) {
            bar.set_position(counter.get() - before);
        }
        bar.finish_and_clear();
    });
    let output = phase.await;
    drop(working);
    // The thread ends at once; the caller then has the terminal for itself.
    let _ = showing.join();
    output
}
