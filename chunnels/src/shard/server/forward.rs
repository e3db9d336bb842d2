//! The forwarding of messages.

use bertha_core::{Connection, DropCounter, Error};

/// Sends all `messages`. Messages that the connection refuses one by one are dropped and counted, so that a
/// bad message of one sender does not stop the messages of other senders.
///
/// # Errors
/// Errors that end the connection.
pub(super) async fn forward<C: Connection>(
    to: &C,
    mut messages: impl ExactSizeIterator<Item = C::Data> + Send,
    dropped: &DropCounter,
) -> Result<(), Error> {
    loop {
        let before = messages.len();
        match to.send_batch(&mut messages).await {
            Ok(()) => return Ok(()),
            // Without progress the loop would not end.
            Err(error) if !error.ends_connection() && messages.len() < before => {
                dropped.add(1);
                tracing::debug!(%error, "dropped a message that can't be forwarded");
            }
            Err(error) => return Err(error),
        }
    }
}
