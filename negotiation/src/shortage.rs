//! A datapath that has no room, or no memory, for a message just now.

use bertha_core::{Error, ErrorKind, Runtime};
use std::time::Duration;

/// How long to wait until there may be room.
const PAUSE: Duration = Duration::from_millis(1);

/// Takes a message that failed for want of room, sent or received, for one that was lost on the way: a handshake repeats it
/// then, and gives up in its own time. Nothing if it was.
///
/// # Errors
/// All others: the connection has ended, or the same message would fail again.
pub(crate) fn or_lost<T>(moved: Result<T, Error>) -> Result<Option<T>, Error> {
    match moved {
        Err(error) if is_shortage(&error) => {
            tracing::debug!(%error, "no room for a message of a handshake");
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Sends a message that is not repeated later, again and again while there is no room, for `limit` at most.
///
/// # Errors
/// The last one.
pub(crate) async fn insist<F>(
    runtime: &impl Runtime,
    limit: Duration,
    mut send: impl FnMut() -> F,
) -> Result<(), Error>
where
    F: Future<Output = Result<(), Error>>,
{
    let deadline = runtime.now() + limit;
    loop {
        match send().await {
            Err(error) if is_shortage(&error) && runtime.now() < deadline => {
                runtime.sleep_until(runtime.now() + PAUSE).await;
            }
            sent => return sent,
        }
    }
}

/// Whether there may be room soon, and the connection goes on.
fn is_shortage(error: &Error) -> bool {
    error.kind() == ErrorKind::Exhausted
}
