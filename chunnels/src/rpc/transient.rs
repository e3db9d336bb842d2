//! Errors of a connection that goes on, or says so.

use bertha_core::{Base, Connection, Error, Runtime};
use std::time::Duration;

/// The errors in a row, without a message between them, after which a connection counts as ended. One that has ended for good may go on
/// to say why, with a kind that otherwise concerns a single message.
const MOST: u32 = 16;

/// The pause after an error, which lets whatever is used up come back.
const PAUSE: Duration = Duration::from_millis(10);

/// Tolerates errors that may pass, for a while.
#[derive(Debug, Default)]
pub(super) struct TransientErrors {
    in_a_row: u32,
}

impl TransientErrors {
    /// A message has come.
    pub(super) fn reset(&mut self) {
        self.in_a_row = 0;
    }

    /// Waits for a moment after an error that may pass.
    ///
    /// # Errors
    /// Any other, and one too many in a row.
    pub(super) async fn tolerate(&mut self, connection: &impl Connection, error: Error) -> Result<(), Error> {
        self.in_a_row += 1;
        if !error.kind().may_pass() || self.in_a_row == MOST {
            return Err(error);
        }
        let runtime = connection.base().runtime();
        runtime.sleep_until(runtime.now() + PAUSE).await;
        Ok(())
    }
}
