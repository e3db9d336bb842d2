//! Time-outs, so that no check waits forever.

use bertha_core::{Base, Connection, Error, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// Time for which a check waits for an expected event, by the clock of the connection's runtime.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// Returns the output of `future`, which must be ready soon.
pub(super) async fn soon<C: Connection, T>(connection: &C, what: &str, future: impl Future<Output = T>) -> T {
    match within(connection, TIMEOUT, future).await {
        Some(result) => result,
        None => panic!("{what}: nothing happened for {TIMEOUT:?}"),
    }
}

/// Returns the output of `future`, if it is ready within `duration`.
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

/// Returns the success of `future`, which must be ready soon, as in [`soon`].
pub(super) async fn succeeds<C: Connection, T>(
    connection: &C,
    what: &str,
    future: impl Future<Output = Result<T, Error>>,
) -> T {
    soon(connection, what, future).await.unwrap_or_else(|error| panic!("{what}: {error}"))
}

/// Waits until messages on their way have arrived. The connection reports arrivals only by `recv`, so the
/// wait is a fixed time.
pub(super) async fn let_arrive<C: Connection>(connection: &C) {
    let runtime = connection.base().runtime();
    runtime.sleep_until(runtime.now() + Duration::from_millis(20)).await;
}
