//! The calls that a server has, without I/O.

use crate::parties::calls_made::MOST;
use crate::parties::origin::Origin;
use bertha_managed::Party;
use bertha_runtime::gets_another;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Maximum number of open calls of a server.
const OPEN: usize = 4 * MOST;

/// The calls that a server has, by the server's numbers. `C` is a caller.
///
/// Each origin has a [part of the calls](gets_another), and of the memory of their requests: no more than it leaves free, and one call at
/// least.
#[derive(Debug)]
pub(crate) struct Given<C> {
    /// Number of calls so far.
    so_far: u64,
    open: HashMap<u64, Open<C>>,
    /// The origins of open calls.
    origins: HashMap<Origin, Part>,
    /// Parties that are none any more.
    gone: Vec<Party>,
    /// Number of bytes that requests may take, and that those of open calls take.
    memory: usize,
    taken: usize,
    has_ended: bool,
    /// The server gets no further calls, but for those that are on their way.
    is_retired: bool,
}

/// An open call.
#[derive(Debug)]
struct Open<C> {
    caller: C,
    /// The caller's number of the call.
    call: u64,
    origin: Origin,
    /// Number of bytes of the request.
    bytes: usize,
}

/// The part of an origin.
#[derive(Debug)]
struct Part {
    /// The origin, as the server knows it.
    party: Party,
    calls: usize,
    bytes: usize,
}

/// The reason why a server does not get a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NotGiven {
    /// The server has gone.
    Gone,
    /// The server has too many calls, of this origin or of all.
    Calls,
    /// The requests of the origin take too much memory of the server.
    Memory,
}

impl<C> Given<C> {
    /// Makes a server without calls, whose requests may take so many bytes.
    pub(crate) fn new(memory: usize) -> Self {
        Self {
            so_far: 0,
            open: HashMap::new(),
            origins: HashMap::new(),
            gone: Vec::new(),
            memory,
            taken: 0,
            has_ended: false,
            is_retired: false,
        }
    }

    /// Gives a caller's call to the server, with a request of so many bytes, and returns the server's number.
    pub(crate) fn give(
        &mut self,
        caller: C,
        call: u64,
        origin: Origin,
        bytes: usize,
    ) -> Result<u64, NotGiven> {
        if self.has_ended {
            return Err(NotGiven::Gone);
        }
        let (calls, memory) = (OPEN - self.open.len(), self.memory.saturating_sub(self.taken));
        // Without a gap, the next number is that of the origins so far, which are no more than open calls.
        let next = Party(self.origins.len() as u16);
        let part = match self.origins.entry(origin) {
            Entry::Occupied(part) => part.into_mut(),
            Entry::Vacant(_) if !gets_another(0, calls, OPEN) => return Err(NotGiven::Calls),
            Entry::Vacant(part) => {
                part.insert(Part { party: self.gone.pop().unwrap_or(next), calls: 0, bytes: 0 })
            }
        };
        if part.calls > 0 {
            if !gets_another(part.calls, calls, OPEN) {
                return Err(NotGiven::Calls);
            }
            if part.bytes + bytes > memory.saturating_sub(bytes) {
                return Err(NotGiven::Memory);
            }
        }
        part.calls += 1;
        part.bytes += bytes;
        self.taken += bytes;
        let number = part.party.call(self.so_far);
        self.so_far += 1;
        self.open.insert(number, Open { caller, call, origin, bytes });
        Ok(number)
    }

    /// Takes a call away from the server, and returns its caller with the caller's number. Returns `None` if the server does not have it.
    pub(crate) fn take(&mut self, number: u64) -> Option<(C, u64)> {
        let Open { caller, call, origin, bytes } = self.open.remove(&number)?;
        self.taken -= bytes;
        if let Entry::Occupied(mut part) = self.origins.entry(origin) {
            part.get_mut().calls -= 1;
            part.get_mut().bytes -= bytes;
            if part.get().calls == 0 {
                self.gone.push(part.remove().party);
            }
        }
        Some((caller, call))
    }

    /// Returns the number of calls that the server has.
    pub(crate) fn count(&self) -> usize {
        self.open.len()
    }

    /// Notes that the server gets no further calls.
    pub(crate) fn retire(&mut self) {
        self.is_retired = true;
    }

    /// Returns true if the server has no call, and gets none from now on.
    pub(crate) fn is_over(&mut self) -> bool {
        self.has_ended |= self.is_retired && self.open.is_empty();
        self.has_ended
    }

    /// Returns true if the server gets no calls.
    pub(crate) fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Takes all calls away from a server that has gone. It gets no others.
    pub(crate) fn take_all(&mut self) -> impl Iterator<Item = (C, u64)> {
        self.has_ended = true;
        std::mem::take(&mut self.open).into_values().map(|open| (open.caller, open.call))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_that_has_gone_gets_no_calls() {
        let mut given = Given::new(0);
        let numbers = [("a", 5), ("b", 5)].map(|(caller, call)| given.give(caller, call, Origin::Link(0), 0));
        assert_eq!(numbers, [Ok(0), Ok(1)]);
        assert_eq!((given.take(0), given.take(0)), (Some(("a", 5)), None));
        assert_eq!(given.take_all().collect::<Vec<_>>(), [("b", 5)]);
        assert_eq!(given.give("a", 6, Origin::Link(0), 0), Err(NotGiven::Gone));
    }

    #[test]
    fn a_server_that_is_retired_ends_with_its_last_call() {
        let mut given = Given::new(0);
        let call = given.give((), 0, Origin::Link(0), 0).unwrap();
        given.retire();
        assert!(!given.is_over());
        let late = given.give((), 1, Origin::Link(0), 0).unwrap();
        assert!(given.take(call).is_some() && !given.is_over(), "a call was on its way");
        assert!(given.take(late).is_some() && given.is_over());
        assert_eq!(given.give((), 2, Origin::Link(0), 0), Err(NotGiven::Gone));
    }

    #[test]
    fn an_origin_is_one_party_and_leaves_places_to_others() {
        let mut given = Given::new(0);
        let mut give = |origin| given.give((), 0, Origin::Link(origin), 0);
        let first: Vec<_> = std::iter::from_fn(|| give(1).ok()).collect();
        assert_eq!(first.len(), OPEN / 2);
        assert!(first.iter().all(|call| Party::of(*call) == Party(0)));
        let others = [2, 3].map(|origin| give(origin).unwrap());
        assert_eq!(others.map(Party::of), [Party(1), Party(2)]);
        given.take(others[0]).unwrap();
        let mut give = |origin| Party::of(given.give((), 0, Origin::Link(origin), 0).unwrap());
        assert_eq!([4, 5].map(&mut give), [Party(1), Party(3)], "a number is used again");
        assert_eq!([3, 5].map(give), [Party(2), Party(3)]);
    }

    #[test]
    fn origins_without_number_that_have_calls_leave_places_to_newcomers() {
        let mut given = Given::new(0);
        let mut give = |origin| given.give((), 0, Origin::Link(origin), 0).is_ok();
        for _ in 0..20 {
            (0..2000).for_each(|origin| _ = give(origin));
        }
        assert!((2000..2000 + OPEN / 8).all(give));
    }

    #[test]
    fn an_origin_leaves_memory_to_others() {
        let mut given = Given::new(1024);
        let mut fill = |origin: usize, bytes| {
            let full = std::iter::repeat_with(|| given.give((), 0, Origin::Link(origin), bytes));
            full.take_while(Result::is_ok).count()
        };
        assert_eq!([fill(1, 64), fill(2, 64), fill(3, 64), fill(4, 64)], [8, 4, 2, 1]);
        assert_eq!(given.give((), 0, Origin::Link(1), 64), Err(NotGiven::Memory));
        assert!(given.give((), 0, Origin::Link(5), 1024).is_ok(), "a first call has its place");
        let calls: Vec<_> = given.open.keys().copied().collect();
        calls.iter().for_each(|call| assert!(given.take(*call).is_some()));
        assert_eq!((given.taken, given.origins.len()), (0, 0));
    }
}
