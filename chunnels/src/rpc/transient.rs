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

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use bertha_core::{Buf, ErrorKind};
    use bertha_datapath_sim::{Sim, pair_of};

    #[test]
    fn pauses_double_until_a_message_comes() {
        let mut sim = Sim::new(1);
        let runtime = sim.runtime();
        let (connection, _peer) = pair_of::<_, Buf>(sim.runtime());
        sim.run(async {
            let mut errors = TransientErrors::default();
            for _ in 0..2 {
                for pause in [10, 20, 40, 80, 160, 320, 640, 640] {
                    let before = runtime.now();
                    errors
                        .tolerate(&connection, Error::new(ErrorKind::Exhausted, "no buffer"))
                        .await
                        .unwrap();
                    assert_eq!(runtime.now() - before, Duration::from_millis(pause));
                }
                errors.reset();
            }
            let before = runtime.now();
            let ended = Error::new(ErrorKind::Closed, "over").ending_connection();
            assert_eq!(errors.tolerate(&connection, ended).await.unwrap_err().kind(), ErrorKind::Closed);
            assert_eq!(runtime.now(), before);
        });
    }
}
