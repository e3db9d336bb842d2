//! Events in the order of virtual time.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Duration;

/// The time since the start, and the events after it.
#[derive(Default)]
pub(super) struct Timeline {
    pub(super) now: Duration,
    next: u64,
    // The events. A map allows what a heap does not: the timer of a dropped future is removed with it.
    // Otherwise the timer would keep a deadlocked run alive, and time would jump to it in vain.
    events: BTreeMap<Key, Event>,
}

/// The time of an event, and its number among the events of that time.
pub(super) type Key = (Duration, u64);

/// An event.
pub(super) enum Event {
    /// A sleeping task goes on.
    Wake(Waker),
    /// The simulation acts, for example by delivering a datagram.
    Act(Box<dyn FnOnce() + Send>),
}

impl Event {
    pub(super) fn happen(self) {
        match self {
            Self::Wake(waker) => waker.wake(),
            Self::Act(action) => action(),
        }
    }
}

impl Timeline {
    /// Schedules `event` for `at`, or for now if this time has passed.
    pub(super) fn add(&mut self, at: Duration, event: Event) -> Key {
        let key = (at.max(self.now), self.next);
        self.next += 1;
        self.events.insert(key, event);
        key
    }

    pub(super) fn remove(&mut self, key: Key) -> Option<Event> {
        self.events.remove(&key)
    }

    /// Returns the time of the next event.
    pub(super) fn upcoming(&self) -> Option<Duration> {
        self.events.first_key_value().map(|((at, _), _)| *at)
    }

    /// Jumps to the next event and removes all events of that instant, in the order of scheduling.
    pub(super) fn advance(&mut self) -> Vec<Event> {
        let Some(at) = self.upcoming() else { return Vec::new() };
        self.now = at;
        let later = self.events.split_off(&(at, u64::MAX));
        std::mem::replace(&mut self.events, later).into_values().collect()
    }

    /// Removes all events, and returns them for dropping.
    pub(super) fn clear(&mut self) -> BTreeMap<Key, Event> {
        std::mem::take(&mut self.events)
    }
}
