//! Errors that a connection survives.

use bertha_core::{Base, Connection, Error, Runtime};
use std::time::Duration;

/// The pause after the first error, which lets a resource that is used up come back.
const PAUSE: Duration = Duration::from_millis(10);

/// The number of errors in a row after which the pause grows no more.
const DOUBLINGS: u32 = 6;

/// Pauses after errors that a connection survives, for longer if no message comes between them.
#[derive(Debug, Default)]
pub(super) struct TransientErrors {
    in_a_row: u32,
}

impl TransientErrors {
    /// Notes that a message has come.
    pub(super) fn reset(&mut self) {
        self.in_a_row = 0;
    }

    /// Waits for a moment after an error that the connection survives.
    ///
    /// # Errors
    /// The error itself, if the connection [has ended](Error::ends_connection) with it.
    pub(super) async fn tolerate(&mut self, connection: &impl Connection, error: Error) -> Result<(), Error> {
        if error.ends_connection() {
            return Err(error);
        }
        let pause = PAUSE * (1 << self.in_a_row.min(DOUBLINGS));
        self.in_a_row += 1;
        let runtime = connection.base().runtime();
        runtime.sleep_until(runtime.now() + pause).await;
        Ok(())
    }
}
