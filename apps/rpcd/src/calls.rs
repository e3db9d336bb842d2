//! The open calls of applications, without I/O.

use crate::origin::Origin;
use bertha_managed::{Party, Shares};
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Maximum number of open calls of an application.
pub(crate) const MOST: usize = 4096;

/// Maximum number of open calls of a server, of which each origin has its part.
const OPEN: usize = 4 * MOST;

/// The open calls of a caller, by the caller's numbers. `S` is a server.
#[derive(Debug)]
pub(crate) struct Calls<S> {
    open: HashMap<u64, Call<S>>,
    /// Number of bytes of all copies.
    copied: usize,
}

/// An open call.
#[derive(Debug)]
pub(crate) struct Call<S> {
    pub(crate) method: u32,
    /// The number of the request's message, which the caller keeps until it hears of it.
    pub(crate) message: u32,
    /// Number of milliseconds that were left; zero is no limit.
    pub(crate) milliseconds: u32,
    /// Number of bytes of the copy of the request that engines read, while there is one.
    pub(crate) copied: usize,
    /// The server that has the request, and its number of the call.
    pub(crate) server: Option<(S, u64)>,
}

/// The reason why a call does not begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotBegun {
    /// The caller has a call of this number.
    Twice,
    /// The caller has too many calls.
    TooMany,
}

impl<S> Default for Calls<S> {
    fn default() -> Self {
        Self { open: HashMap::new(), copied: 0 }
    }
}

impl<S> Calls<S> {
    /// Begins a call.
    pub(crate) fn begin(
        &mut self,
        call: u64,
        method: u32,
        message: u32,
        milliseconds: u32,
    ) -> Result<(), NotBegun> {
        let count = self.open.len();
        match self.open.entry(call) {
            Entry::Occupied(_) => Err(NotBegun::Twice),
            Entry::Vacant(_) if count >= MOST => Err(NotBegun::TooMany),
            Entry::Vacant(entry) => {
                entry.insert(Call { method, message, milliseconds, copied: 0, server: None });
                Ok(())
            }
        }
    }

    /// Returns an open call.
    pub(crate) fn get(&mut self, call: u64) -> Option<&mut Call<S>> {
        self.open.get_mut(&call)
    }

    /// Returns the number of an open call's message.
    pub(crate) fn message(&self, call: u64) -> Option<u32> {
        Some(self.open.get(&call)?.message)
    }

    /// Returns the number of bytes of all copies of requests that engines read.
    pub(crate) fn copied(&self) -> usize {
        self.copied
    }

    /// Notes that engines have a copy of so many bytes of a call's request, or none any more.
    pub(crate) fn set_copied(&mut self, call: u64, bytes: usize) {
        if let Some(open) = self.open.get_mut(&call) {
            self.copied = self.copied - open.copied + bytes;
            open.copied = bytes;
        }
    }

    /// Ends a call. Returns `None` if it has ended before.
    pub(crate) fn end(&mut self, call: u64) -> Option<Call<S>> {
        let ended = self.open.remove(&call)?;
        self.copied -= ended.copied;
        Some(ended)
    }

    /// Ends all calls.
    pub(crate) fn end_all(&mut self) -> impl Iterator<Item = (u64, Call<S>)> {
        self.copied = 0;
        std::mem::take(&mut self.open).into_iter()
    }
}

/// The calls that a server has, by the server's numbers. `C` is a caller.
#[derive(Debug)]
pub(crate) struct Given<C> {
    /// Number of calls so far.
    count: u64,
    open: HashMap<u64, (C, u64, Origin)>,
    places: Shares<Origin>,
    /// The origins of open calls, as the server knows them.
    parties: HashMap<Origin, Party>,
    /// Parties that are none any more.
    gone: Vec<Party>,
    has_ended: bool,
    /// The server gets no further calls, but for those that are on their way.
    is_retired: bool,
}

impl<C> Default for Given<C> {
    fn default() -> Self {
        Self {
            count: 0,
            open: HashMap::new(),
            places: Shares::new(OPEN),
            parties: HashMap::new(),
            gone: Vec::new(),
            has_ended: false,
            is_retired: false,
        }
    }
}

impl<C> Given<C> {
    /// Gives a caller's call to the server, and returns the server's number. Returns `None` if the server has gone, or has too many, of this
    /// origin or of all.
    pub(crate) fn give(&mut self, caller: C, call: u64, origin: Origin) -> Option<u64> {
        if self.has_ended || !self.places.take(origin) {
            return None;
        }
        // Without a gap, the next number is that of the parties so far, which are no more than open calls.
        let next = Party(self.parties.len() as u16);
        let party = *self.parties.entry(origin).or_insert_with(|| self.gone.pop().unwrap_or(next));
        let number = party.call(self.count);
        self.count += 1;
        self.open.insert(number, (caller, call, origin));
        Some(number)
    }

    /// Takes a call away from the server. Returns `None` if the server does not have it.
    pub(crate) fn take(&mut self, number: u64) -> Option<(C, u64)> {
        let (caller, call, origin) = self.open.remove(&number)?;
        self.places.give_back(origin);
        if self.places.of(&origin) == 0 {
            self.gone.extend(self.parties.remove(&origin));
        }
        Some((caller, call))
    }

    /// Notes that the server gets no further calls.
    pub(crate) fn retire(&mut self) {
        self.is_retired = true;
    }

    /// Returns true if the server has no call, and gets none.
    pub(crate) fn is_over(&self) -> bool {
        self.is_retired && self.open.is_empty()
    }

    /// Takes all calls away from a server that has gone. It gets no others.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (C, u64)> {
        self.has_ended = true;
        std::mem::take(&mut self.open).into_values().map(|(caller, call, _)| (caller, call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_begins_once_and_ends_once() {
        let mut calls = Calls::<()>::default();
        assert_eq!(calls.begin(7, 0, 1, 0), Ok(()));
        assert_eq!(calls.begin(7, 0, 2, 0), Err(NotBegun::Twice));
        assert_eq!(calls.get(7).map(|call| call.message), Some(1));
        assert!(calls.end(7).is_some() && calls.end(7).is_none());
        assert_eq!(calls.begin(7, 0, 3, 0), Ok(()));
    }

    #[test]
    fn copies_count_until_they_go_or_their_calls_end() {
        let mut calls = Calls::<()>::default();
        assert!((0..3).all(|call| calls.begin(call, 0, 0, 0).is_ok()));
        (0..4).for_each(|call| calls.set_copied(call, 100 << call));
        assert_eq!(calls.copied(), 700);
        calls.set_copied(0, 0);
        calls.end(1);
        assert_eq!(calls.copied(), 400);
        assert_eq!((calls.end_all().count(), calls.copied()), (2, 0));
    }

    #[test]
    fn open_calls_are_bounded() {
        let mut calls = Calls::<()>::default();
        assert!((0..MOST as u64).all(|call| calls.begin(call, 0, 0, 0).is_ok()));
        assert_eq!(calls.begin(MOST as u64, 0, 0, 0), Err(NotBegun::TooMany));
        assert_eq!(calls.begin(0, 0, 0, 0), Err(NotBegun::Twice));
        assert_eq!(calls.end_all().count(), MOST);
        assert_eq!(calls.begin(0, 0, 0, 0), Ok(()));
    }

    #[test]
    fn a_server_that_has_gone_gets_no_calls() {
        let mut given = Given::default();
        let numbers = [("a", 5), ("b", 5)].map(|(caller, call)| given.give(caller, call, Origin::Link(0)));
        assert_eq!(numbers, [Some(0), Some(1)]);
        assert_eq!((given.take(0), given.take(0)), (Some(("a", 5)), None));
        assert_eq!(given.take_all().collect::<Vec<_>>(), [("b", 5)]);
        assert_eq!(given.give("a", 6, Origin::Link(0)), None);
    }

    #[test]
    fn an_origin_is_one_party_and_leaves_places_to_others() {
        let mut given = Given::default();
        let mut give = |origin| given.give((), 0, Origin::Link(origin));
        let first: Vec<_> = std::iter::from_fn(|| give(1)).collect();
        assert_eq!(first.len(), OPEN / 2);
        assert!(first.iter().all(|call| Party::of(*call) == Party(0)));
        let others = [2, 3].map(|origin| give(origin).unwrap());
        assert_eq!(others.map(Party::of), [Party(1), Party(2)]);
        given.take(others[0]).unwrap();
        let mut give = |origin| Party::of(given.give((), 0, Origin::Link(origin)).unwrap());
        assert_eq!([4, 5].map(&mut give), [Party(1), Party(3)], "a number is used again");
        assert_eq!([3, 5].map(give), [Party(2), Party(3)]);
    }
}
