//! Not waiting for ever.

use bertha_core::{Base, Connection, Error, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// How long a check waits for something that must happen, by the clock of the connection's runtime.
pub const PATIENCE: Duration = Duration::from_secs(10);

/// What comes of `future`, which must come soon.
pub(super) async fn soon<C: Connection, T>(connection: &C, what: &str, future: impl Future<Output = T>) -> T {
    match within(connection, PATIENCE, future).await {
        Some(result) => result,
        None => panic!("{what}: nothing happened for {PATIENCE:?}"),
    }
}

/// What comes of `future` within `duration`.
pub(super) async fn within<C: Connection, T>(
    connection: &C,
    duration: Duration,
    future: impl Future<Output = T>,
) -> Option<T> {
    let runtime = connection.base().runtime();
    let timer = pin!(runtime.sleep_until(runtime.now() + duration));
    match select(pin!(future), timer).await {
        Either::Left((result, _)) => Some(result),
        Either::Right(_) => None,
    }
}

/// As [`soon`], for what must succeed.
pub(super) async fn succeeds<C: Connection, T>(
    connection: &C,
    what: &str,
    future: impl Future<Output = Result<T, Error>>,
) -> T {
    soon(connection, what, future).await.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Lets what was sent arrive: there is no other sign of it that does not take it.
pub(super) async fn settle<C: Connection>(connection: &C) {
    let runtime = connection.base().runtime();
    runtime.sleep_until(runtime.now() + Duration::from_millis(20)).await;
}
