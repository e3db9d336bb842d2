//! Turns of connections: a single connection at a time for each file, the newest first.

use crate::{Error, Message, Name, Refusal};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;
use tokio::sync::{OwnedMutexGuard, watch};

/// The files that are being received.
#[derive(Clone, Debug, Default)]
pub(super) struct Turns(Arc<Mutex<HashMap<Name, Arc<FilePlace>>>>);

#[derive(Debug)]
struct FilePlace {
    /// Length of the file.
    length: u64,
    /// Lock that a connection holds while it has the file.
    writing: Arc<tokio::sync::Mutex<()>>,
    /// Number of connections that have asked for the file.
    asked: watch::Sender<u64>,
}

/// The right to write a file. When it is dropped, it goes to the next connection that waits for it.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Turns,
    name: Name,
    number: u64,
    asked: watch::Receiver<u64>,
    _writing: OwnedMutexGuard<()>,
}

impl Turns {
    /// Asks the connection that has the file to stop, and waits until it has.
    ///
    /// # Errors
    /// [`Refusal::Exists`] while a file of this name and another length is being received: its sender is another, or
    /// will be gone before long.
    pub(super) async fn take(&self, name: &Name, length: u64) -> Result<Turn, Refusal> {
        let (place, number) = self.ask(name, length)?;
        let asked = place.asked.subscribe();
        let writing = place.writing.clone().lock_owned().await;
        Ok(Turn { turns: self.clone(), name: name.clone(), number, asked, _writing: writing })
    }

    /// Counts a request, under the lock: otherwise the last turn could remove the place in between, and two
    /// connections would write the file.
    fn ask(&self, name: &Name, length: u64) -> Result<(Arc<FilePlace>, u64), Refusal> {
        let new = || Arc::new(FilePlace { length, writing: Arc::default(), asked: watch::Sender::new(0) });
        let mut places = self.0.lock();
        let place = places.entry(name.clone()).or_insert_with(new);
        if place.length != length {
            return Err(Refusal::Exists);
        }
        let mut number = 0;
        place.asked.send_modify(|asked| {
            *asked += 1;
            number = *asked;
        });
        Ok((place.clone(), number))
    }
}

impl Turn {
    /// Returns the output of `receiving`, unless a newer connection asks for the file first.
    pub(super) async fn or_superseded(
        &mut self,
        receiving: impl Future<Output = Result<Message, bertha::Error>>,
    ) -> Result<Message, Error> {
        let number = self.number;
        tokio::select! {
            biased;
            // The place lives as long as this turn, so the call does not fail.
            _ = self.asked.wait_for(|asked| *asked > number) => Err(Error::Declined(Refusal::Superseded)),
            received = receiving => Ok(received?),
        }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut places = self.turns.0.lock();
        // The newest connection is the last to have the file: none waits.
        if *self.asked.borrow() == self.number {
            places.remove(&self.name);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[tokio::test]
    async fn another_file_of_this_name_ends_no_connection() {
        let turns = Turns::default();
        let name = Name::of(std::path::Path::new("a.bin")).unwrap();
        let mut first = turns.take(&name, 200).await.unwrap();
        assert_eq!(turns.take(&name, 1).await.unwrap_err(), Refusal::Exists);
        let received = first.or_superseded(async { Ok(Message::Refused(Refusal::Storage)) }).await;
        assert!(matches!(received, Ok(Message::Refused(Refusal::Storage))), "{received:?}");
        drop(first);
        turns.take(&name, 1).await.unwrap();
    }
}
