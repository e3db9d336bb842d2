//! The memory of messages that have arrived in part, of all connections of a listener together.

use bertha_core::debug_fields;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

/// A connection whose unfinished message takes no more than this many bytes is not counted, so that small messages touch nothing that
/// connections share.
pub(super) const OWN: usize = 64 << 10;

/// A connection that can be made to give up the message that has arrived in part.
pub(super) trait Abandon: Send + Sync {
    /// Gives up the message, and with it the stream.
    fn abandon(&self);
}

/// The memory for unfinished messages. When it is used up, the connection whose message has grown for the last time the longest ago gives
/// up: the peer of that one is slow, or has no intention to end it.
pub(crate) struct Unfinished {
    most: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    bytes: usize,
    /// The accounts, by the order in which they grew.
    by_growth: BTreeMap<u64, (usize, Weak<dyn Abandon>)>,
    growths: u64,
    abandoned: u64,
}

/// The part of a connection.
#[derive(Debug)]
pub(super) struct Account {
    unfinished: Arc<Unfinished>,
    /// Its bytes that are counted, and its number in the order of growth.
    counted: Option<(usize, u64)>,
}

impl Unfinished {
    /// Makes a memory of at most `most` bytes.
    pub(crate) fn new(most: usize) -> Self {
        Self { most, held: Mutex::default() }
    }

    /// The account of a connection.
    pub(super) fn open(self: &Arc<Self>) -> Account {
        Account { unfinished: self.clone(), counted: None }
    }

    /// The number of connections that had to give up.
    pub(crate) fn abandoned(&self) -> u64 {
        self.held.lock().abandoned
    }
}

impl Account {
    /// The unfinished message of the connection takes `bytes` now. Returns true if there is room for them; other connections may have had to give up.
    #[inline]
    pub(super) fn set(&mut self, bytes: usize, holder: impl FnOnce() -> Weak<dyn Abandon>) -> bool {
        if bytes <= OWN && self.counted.is_none() {
            return true;
        }
        self.count(bytes, holder)
    }

    #[cold]
    fn count(&mut self, bytes: usize, holder: impl FnOnce() -> Weak<dyn Abandon>) -> bool {
        if self.counted.is_some_and(|(counted, _)| counted == bytes) {
            return true;
        }
        let mut held = self.unfinished.held.lock();
        if let Some((_, number)) = self.counted.take() {
            held.settle(number);
        }
        if bytes <= OWN {
            return true;
        }
        if bytes > self.unfinished.most {
            held.abandoned += 1;
            return false;
        }
        let mut abandoned = Vec::new();
        while held.bytes + bytes > self.unfinished.most {
            let Some((&number, _)) = held.by_growth.first_key_value() else { break };
            abandoned.extend(held.settle(number));
            held.abandoned += 1;
        }
        held.growths += 1;
        let number = held.growths;
        held.bytes += bytes;
        held.by_growth.insert(number, (bytes, holder()));
        self.counted = Some((bytes, number));
        drop(held);
        // Without the lock, since a connection that is dropped gives back by itself.
        abandoned.iter().filter_map(Weak::upgrade).for_each(|connection| connection.abandon());
        true
    }
}

impl Held {
    /// Takes an entry out, if it is still there.
    fn settle(&mut self, number: u64) -> Option<Weak<dyn Abandon>> {
        let (bytes, holder) = self.by_growth.remove(&number)?;
        self.bytes -= bytes;
        Some(holder)
    }
}

impl Drop for Account {
    fn drop(&mut self) {
        if let Some((_, number)) = self.counted {
            self.unfinished.held.lock().settle(number);
        }
    }
}

debug_fields!(Unfinished { most });

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[derive(Default)]
    struct Stream(AtomicBool);

    impl Abandon for Stream {
        fn abandon(&self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn weak(stream: &Arc<Stream>) -> Weak<dyn Abandon> {
        let stream: Arc<dyn Abandon> = stream.clone();
        Arc::downgrade(&stream)
    }

    #[test]
    fn the_one_that_grew_the_longest_ago_gives_up() {
        let unfinished = Arc::new(Unfinished::new(4 * OWN));
        let streams: [Arc<Stream>; 3] = std::array::from_fn(|_| Arc::default());
        let mut accounts: Vec<_> = streams.iter().map(|_| unfinished.open()).collect();
        let given_up = || streams.iter().map(|stream| stream.0.load(Ordering::Relaxed)).collect::<Vec<_>>();
        assert!(accounts[0].set(2 * OWN, || weak(&streams[0])));
        assert!(accounts[1].set(2 * OWN, || weak(&streams[1])));
        // As much as before is no growth.
        assert!(accounts[0].set(2 * OWN, || weak(&streams[0])));
        assert!(accounts[2].set(OWN, || panic!("it is not counted")));
        assert_eq!(given_up(), [false; 3]);
        assert!(accounts[2].set(OWN + 1, || weak(&streams[2])));
        assert_eq!(given_up(), [true, false, false]);
        assert!(!accounts[1].set(4 * OWN + 1, || weak(&streams[1])), "more than all may have");
        assert_eq!(unfinished.held.lock().bytes, OWN + 1);
        assert!(accounts[2].set(0, || panic!("it is not counted")));
        assert_eq!(unfinished.held.lock().bytes, 0);
        assert_eq!(unfinished.abandoned(), 2);
    }

    #[test]
    fn a_connection_that_ends_gives_back() {
        let unfinished = Arc::new(Unfinished::new(4 * OWN));
        let stream = Arc::default();
        let mut account = unfinished.open();
        assert!(account.set(2 * OWN, || weak(&stream)));
        drop(account);
        assert_eq!(unfinished.held.lock().bytes, 0);
    }
}
