//! Sending what others wrote.

use bertha_core::{Connection, Error};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sends all `messages`. Those that this connection can't take are dropped and counted: their author is elsewhere, and
/// they are no reason to stop passing on those of others.
///
/// # Errors
/// Those that end the connection.
pub(super) async fn forward<C: Connection>(
    to: &C,
    mut messages: impl ExactSizeIterator<Item = C::Data> + Send,
    dropped: &AtomicU64,
) -> Result<(), Error> {
    loop {
        let before = messages.len();
        match to.send_batch(&mut messages).await {
            Ok(()) => return Ok(()),
            // Without progress there is no end either.
            Err(error) if error.kind().is_of_one_message() && messages.len() < before => {
                dropped.fetch_add(1, Relaxed);
                tracing::debug!(%error, "dropped a message that can't be passed on");
            }
            Err(error) => return Err(error),
        }
    }
}
