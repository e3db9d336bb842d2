//! The forwarding of messages.

use bertha_core::{Connection, Error};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Sends all `messages`. Those that the connection refuses one by one are dropped and counted, so that a bad message of one sender
/// does not stop those of others.
///
/// # Errors
/// Errors that end the connection.
pub(super) async fn forward<C: Connection>(
    to: &C,
    mut messages: impl ExactSizeIterator<Item = C::Data> + Send,
    dropped: &AtomicU64,
) -> Result<(), Error> {
    loop {
        let before = messages.len();
        match to.send_batch(&mut messages).await {
            Ok(()) => return Ok(()),
            // Without progress the loop would not end.
            Err(error) if error.kind().is_of_one_message() && messages.len() < before => {
                dropped.fetch_add(1, Relaxed);
                tracing::debug!(%error, "dropped a message that can't be forwarded");
            }
            Err(error) => return Err(error),
        }
    }
}
