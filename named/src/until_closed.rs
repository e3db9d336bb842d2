//! The part of a value that its close gives back.

use parking_lot::RwLock;

/// A value that is dropped once it is closed, also while programs of other languages still hold this. `Remains` stays: its texts and figures.
///
/// A connection that shares the socket of its listener would otherwise keep the address in use for as long.
pub(crate) struct UntilClosed<T, Remains>(RwLock<State<T, Remains>>);

enum State<T, Remains> {
    Open(T),
    Closed(Box<Remains>),
}

impl<T: Clone, Remains> UntilClosed<T, Remains> {
    pub(crate) fn new(value: T) -> Self {
        Self(RwLock::new(State::Open(value)))
    }

    /// Returns the value; `None` once it is closed.
    pub(crate) fn get(&self) -> Option<T> {
        match &*self.0.read() {
            State::Open(value) => Some(value.clone()),
            State::Closed(_) => None,
        }
    }

    /// Returns what the value tells, or what is left of it. The function of the value may take its time.
    pub(crate) fn look<R>(&self, open: impl FnOnce(&T) -> R, closed: impl FnOnce(&Remains) -> R) -> R {
        let there = match &*self.0.read() {
            State::Open(value) => value.clone(),
            State::Closed(remains) => return closed(remains),
        };
        open(&there)
    }

    /// Does the same under the lock, without a clone, for a function that returns at once.
    pub(crate) fn glance<R>(&self, open: impl FnOnce(&T) -> R, closed: impl FnOnce(&Remains) -> R) -> R {
        match &*self.0.read() {
            State::Open(value) => open(value),
            State::Closed(remains) => closed(remains),
        }
    }

    /// Drops the value, which is closed.
    pub(crate) fn give_back(&self, remains: Remains) {
        let dropped = std::mem::replace(&mut *self.0.write(), State::Closed(Box::new(remains)));
        // Out of the lock.
        drop(dropped);
    }
}
