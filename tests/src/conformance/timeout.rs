//! Time-outs, so that no check waits for ever.

use bertha_core::{Base, Connection, Error, Runtime};
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// The time for which a check waits for something that must happen, by the clock of the connection's runtime.
pub const TIMEOUT: Duration = Duration::from_secs(30);

/// The output of `future`, which must be ready soon.
pub(super) async fn soon<C: Connection, T>(connection: &C, what: &str, future: impl Future<Output = T>) -> T {
    match within(connection, TIMEOUT, future).await {
        Some(result) => result,
        None => panic!("{what}: nothing happened for {TIMEOUT:?}"),
    }
}

/// The output of `future`, if it is ready within `duration`.
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

/// Lets messages on their way arrive: nothing but receiving them would show that they have.
pub(super) async fn let_arrive<C: Connection>(connection: &C) {
    let runtime = connection.base().runtime();
    runtime.sleep_until(runtime.now() + Duration::from_millis(20)).await;
}
