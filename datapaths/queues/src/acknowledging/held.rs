//! A message in its buffer.

use super::gathering::{AckDelay, Fate, Place};
use super::ledger::Ledger;
use crate::Incoming;
use bertha_core::{Buf, Error, ErrorKind};
use std::sync::Arc;

/// Delivers the buffers of a received burst, whose drop acknowledges. A message that is longer than the
/// longest buffer is given back.
///
/// # Errors
/// Returns an error for the last such message, behind the delivered messages.
pub(crate) fn hold<R: Send + Sync + 'static>(
    ledger: &Arc<Ledger<R>>,
    burst: Vec<Incoming<R>>,
    ack_delay: AckDelay,
    mut deliver: impl FnMut(Buf),
) -> Result<(), Error> {
    let (payloads, receipts): (Vec<_>, Vec<_>) =
        burst.into_iter().map(|message| (message.payload, message.receipt)).unzip();
    let mut outcome = Ok(());
    for (place, payload) in ledger.receive(receipts, ack_delay).zip(payloads) {
        match Buf::from_owner(Held { payload, place, ledger: ledger.clone() }) {
            Ok(message) => deliver(message),
            Err(held) => {
                ledger.release(place, Fate::GiveBack);
                outcome = Err(too_large(held.payload.len()));
            }
        }
    }
    outcome
}

#[cold]
fn too_large(len: usize) -> Error {
    let what = format!("a message of {len} bytes was given back, since a buffer has less than 128 MiB");
    Error::new(ErrorKind::TooLarge, what)
}

/// The owner of a received message's bytes. It is dropped with the last buffer into them.
struct Held<R> {
    payload: Vec<u8>,
    place: Place,
    ledger: Arc<Ledger<R>>,
}

impl<R> AsMut<[u8]> for Held<R> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.payload
    }
}

impl<R> Drop for Held<R> {
    fn drop(&mut self) {
        // The application's work on the message has failed.
        let fate = if std::thread::panicking() { Fate::GiveBack } else { Fate::Acknowledge };
        self.ledger.release(self.place, fate);
    }
}
