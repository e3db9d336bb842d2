//! A datapath that does not take a message just now: it has no room or no memory, or the machine refuses to send.

use bertha_core::{Error, ErrorKind, Runtime};
use std::time::Duration;

/// How long to wait until there may be room.
const PAUSE: Duration = Duration::from_millis(1);

/// Takes a message that failed so, sent or received, for one that was lost on the way: a handshake repeats it
/// then, and gives up in its own time. Nothing if it was.
///
/// # Errors
/// All others: the connection has ended, or the same message would fail again.
pub(crate) fn or_lost<T>(moved: Result<T, Error>) -> Result<Option<T>, Error> {
    match moved {
        Err(error) if is_shortage(&error) => {
            tracing::debug!(%error, "a message of a handshake is lost");
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Sends a message that is not repeated later, again and again while the datapath does not take it, for `limit` at most.
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

/// Returns true if the connection goes on, and the datapath may take the message soon. A closed port is no shortage: a client that
/// connects has to learn of it.
fn is_shortage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::NotSent) && !error.ends_connection()
}
