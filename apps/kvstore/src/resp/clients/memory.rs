//! The memory that all clients of a kind take together.

use super::{Client, Ending};
use bertha::{Error, ErrorKind};
use parking_lot::Mutex;
use std::collections::HashMap;
use std::sync::Arc;

/// A bound for the memory that clients take together: for their unfinished commands, or for their unsent replies.
///
/// When it is reached, the connection ends that has taken the most memory for the longest time: bytes times the number of clients that
/// have begun to take memory since. A client that keeps a little for ever so goes before one that takes much for a moment.
#[derive(Debug)]
pub(in crate::resp) struct Memory {
    // Taken for commands in several pieces and for replies that have to wait, not for each command.
    state: Mutex<MemoryState>,
    most: usize,
    ending: Ending,
}

#[derive(Debug, Default)]
struct MemoryState {
    used: usize,
    /// The turn of the next holder.
    next: u64,
    holders: HashMap<u64, Holder, ahash::RandomState>,
}

#[derive(Debug)]
struct Holder {
    bytes: usize,
    client: Arc<Client>,
}

impl Memory {
    /// Makes a memory of at most this many bytes; the connection that has to go ends for this reason.
    pub(in crate::resp) fn new(most: usize, ending: Ending) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), most, ending })
    }

    #[cfg(test)]
    fn used(&self) -> usize {
        self.state.lock().used
    }
}

impl MemoryState {
    /// Ends the connection that has taken the most for the longest time. Returns false if there is none.
    fn end_one(&mut self, ending: Ending) -> bool {
        let cost = |turn: u64, bytes: usize| (bytes as u128) * u128::from(self.next - turn);
        let worst = self.holders.iter().max_by_key(|(turn, holder)| cost(**turn, holder.bytes));
        let Some(turn) = worst.map(|(turn, _)| *turn) else { return false };
        if let Some(holder) = self.holders.remove(&turn) {
            self.used -= holder.bytes;
            holder.client.end(ending);
        }
        true
    }
}

/// The part of a [`Memory`] that one client holds. Dropping it gives the part back.
#[derive(Debug)]
pub(in crate::resp) struct Held {
    memory: Arc<Memory>,
    client: Arc<Client>,
    /// When it began to hold something.
    turn: Option<u64>,
}

impl Held {
    /// Nothing yet.
    pub(in crate::resp) fn nothing(memory: &Arc<Memory>, client: &Arc<Client>) -> Self {
        Self { memory: memory.clone(), client: client.clone(), turn: None }
    }

    /// Holds so many bytes from now on.
    ///
    /// # Errors
    /// [`Exhausted`](ErrorKind::Exhausted) if there is no more memory, and this client has taken the most for the longest time.
    pub(in crate::resp) fn set(&mut self, bytes: usize) -> Result<(), Error> {
        let mut state = self.memory.state.lock();
        let turn = *self.turn.get_or_insert_with(|| {
            let turn = state.next;
            state.next += 1;
            state.holders.insert(turn, Holder { bytes: 0, client: self.client.clone() });
            turn
        });
        let before = state.holders.get_mut(&turn).map(|holder| std::mem::replace(&mut holder.bytes, bytes));
        let Some(before) = before else { return Err(self.refused()) };
        state.used = state.used - before + bytes;
        while state.used > self.memory.most && state.end_one(self.memory.ending) {}
        if state.holders.contains_key(&turn) { Ok(()) } else { Err(self.refused()) }
    }

    /// Gives all back.
    pub(in crate::resp) fn give_back(&mut self) {
        let Some(turn) = self.turn.take() else { return };
        let mut state = self.memory.state.lock();
        // Somebody else's need may have taken it already.
        if let Some(holder) = state.holders.remove(&turn) {
            state.used -= holder.bytes;
        }
    }

    #[cold]
    fn refused(&self) -> Error {
        Error::new(ErrorKind::Exhausted, self.memory.ending.to_string())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.give_back();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holder(memory: &Arc<Memory>) -> (Held, Arc<Client>) {
        let client = Arc::new(Client::alone());
        (Held::nothing(memory, &client), client)
    }

    #[test]
    fn who_took_the_most_for_the_longest_time_has_to_go() {
        let memory = Memory::new(1_000, Ending::Unfinished);
        let (mut first, a) = holder(&memory);
        let (mut second, b) = holder(&memory);
        let (mut third, c) = holder(&memory);
        first.set(300).unwrap();
        second.set(310).unwrap();
        third.set(390).unwrap();
        assert_eq!((memory.used(), a.ending()), (1_000, None));
        third.set(391).unwrap();
        assert_eq!([a, b, c].map(|it| it.ending()), [Some(Ending::Unfinished), None, None]);
        assert_eq!(memory.used(), 701);
        assert!(first.set(1).is_err(), "it has gone");
        drop((first, second));
        assert_eq!(memory.used(), 391);
        third.give_back();
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn what_is_too_much_for_everybody_ends_its_own_client_alone() {
        let memory = Memory::new(1_000, Ending::Unsent);
        let (mut little, a) = holder(&memory);
        let (mut much, b) = holder(&memory);
        little.set(10).unwrap();
        assert_eq!(much.set(1_001).unwrap_err().kind(), ErrorKind::Exhausted);
        assert_eq!((a.ending(), b.ending()), (None, Some(Ending::Unsent)));
        assert_eq!(memory.used(), 10);
    }
}
