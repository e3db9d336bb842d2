//! Attempts of which the first successful one wins.

use super::attempts::Attempts;
use bertha_core::{Error, Runtime};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::fmt::Display;
use std::pin::pin;
use std::time::{Duration, Instant};

/// Begins attempts when they are due, until an attempt succeeds, all have failed, or `deadline` has passed.
/// Attempts under way are then dropped. Returns the outcome of the attempt that succeeded, and the other attempts.
pub(crate) async fn race<L, T, F>(
    runtime: &impl Runtime,
    mut attempts: Attempts<L>,
    deadline: Instant,
    attempt: impl Fn(L) -> F,
) -> Result<(T, Attempts<L>), Error>
where
    L: Display + Clone,
    F: Future<Output = Result<T, Error>>,
{
    let mut under_way = FuturesUnordered::new();
    loop {
        let now = runtime.now();
        if now >= deadline {
            return Err(attempts.into_timeout());
        }
        while let Some(label) = attempts.poll_begin(now) {
            let connecting = attempt(label.clone());
            under_way.push(async move { (label, connecting.await) });
        }
        if under_way.is_empty() {
            return Err(attempts.into_error());
        }
        let wake = attempts.poll_timeout().map_or(deadline, |next| next.min(deadline));
        let ended = match select(under_way.next(), pin!(runtime.sleep_until(wake))).await {
            Either::Left((ended, _)) => ended,
            Either::Right(_) => None,
        };
        match ended {
            Some((_, Ok(connected))) => return Ok((connected, attempts)),
            Some((label, Err(error))) => attempts.failed(label, error, runtime.now()),
            None => {}
        }
    }
}

/// Makes one attempt after another, each with an equal share of the remaining `limit`, where no runtime is
/// known that keeps time.
pub(crate) async fn in_turn<L, T, F>(
    mut attempts: Attempts<L>,
    limit: Duration,
    attempt: impl Fn(L, Duration) -> F,
) -> Result<(T, Attempts<L>), Error>
where
    L: Display + Clone,
    F: Future<Output = Result<T, Error>>,
{
    let now = Instant::now();
    let share = limit / u32::try_from(attempts.waiting().max(1)).unwrap_or(u32::MAX);
    // The machine's clock stands still, and each failure lets the next attempt begin.
    while let Some(label) = attempts.poll_begin(now) {
        match attempt(label.clone(), share).await {
            Ok(connected) => return Ok((connected, attempts)),
            Err(error) => attempts.failed(label, error, now),
        }
    }
    Err(attempts.into_error())
}
