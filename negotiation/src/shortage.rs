//! A datapath that does not take a message just now: it has no room or no memory, or the machine refuses to
//! send.

use bertha_core::{Error, ErrorKind, Runtime};
use std::time::Duration;

/// The pause after which there may be room.
const PAUSE: Duration = Duration::from_millis(1);

/// Returns `None` for a temporary failure of a `send` or `recv`, since a handshake repeats its messages.
///
/// # Errors
/// Other errors: the connection has ended, or a repetition of the message would fail again.
pub(crate) fn or_lost<T>(moved: Result<T, Error>) -> Result<Option<T>, Error> {
    match moved {
        Err(error) if is_shortage(&error) => {
            tracing::debug!(%error, "a message of a handshake is lost");
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// Sends a message that is not repeated later. Tries again while the datapath does not take the message, for
/// `limit` at most.
///
/// # Errors
/// The last error.
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

/// Returns true if the connection goes on, and the datapath may take the message soon. A closed port is no
/// shortage: a client that connects has to learn of it.
fn is_shortage(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::Exhausted | ErrorKind::NotSent) && !error.ends_connection()
}
