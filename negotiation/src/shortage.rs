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
            tracing::debug!(target: "bertha::negotiation", %error, "a message of a handshake is lost");
            Ok(None)
        }
        other => other.map(Some),
    }
}

/// The messages of a handshake that were lost at this end.
#[derive(Debug, Default)]
pub(crate) struct Losses {
    count: u64,
    last: Option<Error>,
}

impl Losses {
    /// Works as [`or_lost`], and counts the loss.
    pub(crate) fn or_lost<T>(&mut self, moved: Result<T, Error>) -> Result<Option<T>, Error> {
        match moved {
            Err(error) if is_shortage(&error) => {
                tracing::debug!(target: "bertha::negotiation", %error, "a message of a handshake is lost");
                self.count += 1;
                self.last = Some(error);
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Returns the number of lost messages.
    pub(crate) fn count(&self) -> u64 {
        self.count
    }

    /// Returns the error of the handshake, with the last loss if that explains why there was no answer.
    pub(crate) fn explain(&mut self, error: Error) -> Error {
        match self.last.take() {
            Some(loss) if error.kind() == ErrorKind::TimedOut => {
                let what = format!("{}; {} messages were lost here: {loss}", error.context(), self.count);
                Error::new(error.kind(), what).at("negotiation").because(loss)
            }
            _ => error,
        }
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
