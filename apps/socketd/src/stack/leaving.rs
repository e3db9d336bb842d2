//! Addresses whose earlier owner is about to leave them.

use bertha_core::{Error, ErrorKind};
use std::time::{Duration, Instant};
use tokio::time::sleep;

/// The longest time between two looks whether an address is free.
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// Tries to have an address until it is free, for this time at most.
///
/// A listener that has just been closed may have connections whose last words are under way, for a round trip as a rule.
pub(super) async fn once_free<T>(
    within: Duration,
    have: impl AsyncFn() -> Result<T, Error>,
) -> Result<T, Error> {
    let (begun, mut pause) = (Instant::now(), Duration::from_millis(1));
    loop {
        match have().await {
            Err(error) if error.kind() == ErrorKind::AddrInUse && begun.elapsed() < within => {
                sleep(pause).await;
                pause = (2 * pause).min(LONGEST_PAUSE);
            }
            done => return done,
        }
    }
}
