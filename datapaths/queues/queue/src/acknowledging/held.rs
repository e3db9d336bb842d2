//! A message as it lies in its buffer.

use super::gathering::{Fate, Place};
use super::ledger::Ledger;
use std::sync::Arc;

/// The owner of a received message's bytes: dropped with the last buffer into them.
pub(super) struct Held<R> {
    pub(super) payload: Vec<u8>,
    pub(super) place: Place,
    pub(super) ledger: Arc<Ledger<R>>,
}

impl<R> AsMut<[u8]> for Held<R> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.payload
    }
}

impl<R> Drop for Held<R> {
    fn drop(&mut self) {
        // The application's work on it has failed.
        let fate = if std::thread::panicking() { Fate::GiveBack } else { Fate::Acknowledge };
        self.ledger.release(self.place, fate);
    }
}
