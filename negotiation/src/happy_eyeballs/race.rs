//! Attempts at several addresses, of which the first successful attempt wins.

use super::attempts::Attempts;
use bertha_core::{Addr, Error, Runtime};
use futures_util::future::{Either, select};
use futures_util::stream::{FuturesUnordered, StreamExt};
use std::pin::pin;
use std::time::{Duration, Instant};

/// Begins attempts when they are due, until an attempt succeeds, all have failed, or `deadline` has passed.
/// Attempts under way are then dropped.
pub(super) async fn race<T, F>(
    runtime: &impl Runtime,
    mut attempts: Attempts,
    deadline: Instant,
    attempt: impl Fn(Addr) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let mut under_way = FuturesUnordered::new();
    loop {
        let now = runtime.now();
        if now >= deadline {
            return Err(attempts.into_timeout());
        }
        while let Some(addr) = attempts.poll_begin(now) {
            let connecting = attempt(addr.clone());
            under_way.push(async move { (addr, connecting.await) });
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
            Some((_, Ok(connected))) => return Ok(connected),
            Some((addr, Err(error))) => attempts.failed(addr, error, runtime.now()),
            None => {}
        }
    }
}

/// Makes one attempt after another, each with an equal share of the remaining `limit`, where no runtime is
/// known that keeps time.
pub(super) async fn in_turn<T, F>(
    mut attempts: Attempts,
    limit: Duration,
    attempt: impl Fn(Addr, Duration) -> F,
) -> Result<T, Error>
where
    F: Future<Output = Result<T, Error>>,
{
    let now = Instant::now();
    let share = limit / u32::try_from(attempts.waiting().max(1)).unwrap_or(u32::MAX);
    // The machine's clock stands still, and each failure lets the next attempt begin.
    while let Some(addr) = attempts.poll_begin(now) {
        match attempt(addr.clone(), share).await {
            Ok(connected) => return Ok(connected),
            Err(error) => attempts.failed(addr, error, now),
        }
    }
    Err(attempts.into_error())
}
