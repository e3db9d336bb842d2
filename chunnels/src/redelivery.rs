//! Messages that arrive again, for layers that remember which messages have arrived.

use bertha_core::buf::Fate;
use bertha_core::{Buf, Properties};
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Maximum number of returned messages that are expected again. Beyond it, the message with the lowest number is
/// expected no more, and counts as a duplicate.
const MAX_RETURNED: usize = 1 << 16;

/// Maximum number of repetitions of a message that are kept while the message is held. Further repetitions are
/// given back, and arrive later.
const MAX_REPETITIONS: usize = 16;

/// The messages of a connection with [receipts](Properties::receipts) by number: those that the application holds,
/// and those that it did not finish, which arrive again and are no duplicates then.
#[derive(Debug)]
pub(crate) struct Redelivery<N>(Option<Arc<Mutex<RedeliveryState<N>>>>);

#[derive(Debug)]
struct RedeliveryState<N> {
    /// The held messages, with the repetitions that arrived meanwhile: the service may take the acknowledgement of a
    /// repetition for an acknowledgement of the message.
    held: BTreeMap<N, Vec<Buf>>,
    returned: BTreeSet<N>,
}

impl<N: Copy + Ord + Send + 'static> Redelivery<N> {
    /// Creates the state of a connection, which is empty forever if messages have no receipts.
    pub(crate) fn new(properties: Properties) -> Self {
        if properties.receipts { Self::shared() } else { Self(None) }
    }

    /// Creates the state of several connections, whose clones share it.
    pub(crate) fn shared() -> Self {
        let state = RedeliveryState { held: BTreeMap::new(), returned: BTreeSet::new() };
        Self(Some(Arc::new(Mutex::new(state))))
    }

    /// Returns the numbers of messages that the application holds, and of those that it did not finish and that are
    /// expected again; `None` if messages have no receipts.
    #[cfg(feature = "at-most-once")]
    pub(crate) fn counts(&self) -> Option<[usize; 2]> {
        let state = self.0.as_ref()?.lock();
        Some([state.held.len(), state.returned.len()])
    }

    /// Returns a message that has arrived for the first time.
    #[inline]
    pub(crate) fn first(&self, number: N, message: Buf) -> Buf {
        match &self.0 {
            Some(state) if message.has_receipt() => watch(state, number, message),
            _ => message,
        }
    }

    /// Returns a message whose number has arrived before, if the application did not finish with it. A repetition of
    /// a held message has the fate of that message; any other duplicate is done.
    pub(crate) fn repeated(&self, number: N, message: Buf) -> Option<Buf> {
        let state = self.0.as_ref().filter(|_| message.has_receipt())?;
        let mut locked = state.lock();
        if locked.returned.remove(&number) {
            drop(locked);
            return Some(watch(state, number, message));
        }
        match locked.held.get_mut(&number) {
            Some(repetitions) if repetitions.len() < MAX_REPETITIONS => repetitions.push(message),
            // Dropped, so that it arrives again.
            Some(_) => {}
            None => {
                drop(locked);
                message.done();
            }
        }
        None
    }
}

fn watch<N: Copy + Ord + Send + 'static>(
    state: &Arc<Mutex<RedeliveryState<N>>>,
    number: N,
    message: Buf,
) -> Buf {
    state.lock().held.insert(number, Vec::new());
    let state = state.clone();
    message.when_settled(move |fate| {
        let mut locked = state.lock();
        let repetitions = locked.held.remove(&number);
        if fate != Fate::Done {
            locked.returned.insert(number);
            if locked.returned.len() > MAX_RETURNED {
                locked.returned.pop_first();
            }
        }
        drop(locked);
        repetitions.into_iter().flatten().for_each(|repetition| repetition.settle(fate));
    })
}

impl<N> Clone for Redelivery<N> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, channel};

    fn delivered() -> (Buf, Receiver<Fate>) {
        let (fates, fate) = channel();
        let settle = move |_, fate| _ = fates.send(fate);
        (Buf::from_receipt(vec![7], settle).unwrap(), fate)
    }

    fn redelivery() -> Redelivery<u64> {
        let mut properties = Properties::default();
        properties.receipts = true;
        Redelivery::new(properties)
    }

    #[test]
    fn what_is_not_finished_arrives_again_once() {
        let redelivery = redelivery();
        drop(redelivery.first(3, delivered().0));
        let again = redelivery.repeated(3, delivered().0).unwrap();
        again.done();
        let (duplicate, fate) = delivered();
        assert!(redelivery.repeated(3, duplicate).is_none());
        assert_eq!(fate.recv(), Ok(Fate::Done));
    }

    #[test]
    fn a_repetition_of_what_is_held_has_its_fate() {
        for expected in [Fate::Done, Fate::Dropped, Fate::GivenBack] {
            let redelivery = redelivery();
            let held = redelivery.first(3, delivered().0);
            let (repetition, fate) = delivered();
            assert!(redelivery.repeated(3, repetition).is_none());
            assert!(fate.try_recv().is_err());
            held.settle(expected);
            assert_eq!(fate.recv(), Ok(expected));
            assert_eq!(redelivery.repeated(3, delivered().0).is_some(), expected != Fate::Done);
        }
    }

    #[test]
    fn repetitions_are_bounded_and_none_is_acknowledged_early() {
        let redelivery = redelivery();
        let held = redelivery.first(3, delivered().0);
        let fates: Vec<_> = (0..=MAX_REPETITIONS)
            .map(|_| {
                let (repetition, fate) = delivered();
                assert!(redelivery.repeated(3, repetition).is_none());
                fate
            })
            .collect();
        let settled: Vec<_> = fates.iter().filter_map(|fate| fate.try_recv().ok()).collect();
        assert_eq!(settled, [Fate::Dropped]);
        held.done();
        let settled: Vec<_> = fates.iter().filter_map(|fate| fate.try_recv().ok()).collect();
        assert_eq!(settled, [Fate::Done; MAX_REPETITIONS]);
    }

    #[test]
    fn returned_messages_are_bounded() {
        let redelivery = redelivery();
        for number in 0..=MAX_RETURNED as u64 {
            drop(redelivery.first(number, delivered().0));
        }
        assert!(redelivery.repeated(0, delivered().0).is_none());
        assert!(redelivery.repeated(1, delivered().0).is_some());
    }

    #[test]
    fn without_receipts_every_repetition_is_a_duplicate() {
        let redelivery = Redelivery::new(Properties::default());
        let message = || Buf::copy_of(b"x", 4).unwrap();
        assert_eq!(redelivery.first(3, message()).headroom(), 4);
        assert!(redelivery.repeated(3, message()).is_none());
    }
}
