//! A message in its buffer.

use super::gathering::{AckDelay, Place};
use super::ledger::Ledger;
use crate::Incoming;
use bertha_core::buf::Fate;
use bertha_core::{Buf, Error, ErrorKind};
use std::sync::Arc;

/// Delivers the buffers of a received burst. A message that is longer than the
/// longest buffer is given back.
///
/// # Errors
/// Returns an error for the last such message, behind the delivered messages.
pub(crate) fn hold<R: Send + Sync + 'static>(
    ledger: &Arc<Ledger<R>>,
    burst: Vec<Incoming<R>>,
    ack_delay: AckDelay,
    by_dropping: bool,
    mut deliver: impl FnMut(Buf),
) -> Result<(), Error> {
    let (payloads, receipts): (Vec<_>, Vec<_>) =
        burst.into_iter().map(|message| (message.payload, message.receipt)).unzip();
    let mut outcome = Ok(());
    for (place, payload) in ledger.receive(receipts, ack_delay).zip(payloads) {
        let len = payload.len();
        let held = Held { payload, place, ledger: ledger.clone() };
        let message = match by_dropping {
            false => Buf::from_receipt(held, Held::settle).map_err(|held| held.settle(Fate::GivenBack)),
            // Once the message is given back, its drop has no effect.
            true => Buf::from_owner(DoneByDropping(held)).map_err(|held| held.0.release(Fate::GivenBack)),
        };
        match message {
            Ok(message) => deliver(message),
            Err(()) => outcome = Err(too_large(len)),
        }
    }
    outcome
}

#[cold]
fn too_large(len: usize) -> Error {
    let what = format!("a message of {len} bytes was given back, since a buffer has less than 128 MiB");
    Error::new(ErrorKind::TooLarge, what)
}

/// The owner of a received message's bytes.
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

impl<R> Held<R> {
    fn settle(self, fate: Fate) {
        self.release(fate);
    }

    fn release(&self, fate: Fate) {
        self.ledger.release(self.place, fate);
    }
}

/// The owner of a received message's bytes that takes its drop for the end of the work.
struct DoneByDropping<R>(Held<R>);

impl<R> AsMut<[u8]> for DoneByDropping<R> {
    fn as_mut(&mut self) -> &mut [u8] {
        self.0.as_mut()
    }
}

impl<R> Drop for DoneByDropping<R> {
    fn drop(&mut self) {
        // The application's work on the message has failed.
        let fate = if std::thread::panicking() { Fate::GivenBack } else { Fate::Done };
        self.0.release(fate);
    }
}
