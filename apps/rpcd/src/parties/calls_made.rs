//! The open calls of a caller, without I/O.

use crate::failures::details::Details;
use bertha_managed::{Copied, Trace};
use bertha_schemas::PrivateMemory;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

/// Maximum number of open calls of an application.
pub(crate) const MOST: usize = 4096;

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
    /// Number of servers that were tried before, and did not run the call.
    pub(crate) tried: u8,
    /// The request, while another server may get it.
    pub(crate) kept: Option<Kept>,
    /// The reason that the server has stated, by which its failure is known behind engines, and the details of the failure.
    pub(crate) stated: Option<(Arc<str>, Details)>,
}

/// A request whose message its caller keeps until the call ends, for another server of a route if this one does not run the call.
#[derive(Debug)]
pub(crate) struct Kept {
    pub(crate) at: u64,
    pub(crate) bytes: u32,
    pub(crate) trace: Option<Trace>,
    /// The copy that engines have read, which counts until the call ends.
    pub(crate) content: Option<Box<PrivateMemory>>,
    pub(crate) copied: Copied,
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
                entry.insert(Call {
                    method,
                    message,
                    milliseconds,
                    copied: 0,
                    server: None,
                    tried: 0,
                    kept: None,
                    stated: None,
                });
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
}
