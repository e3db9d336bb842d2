//! Ends that wait for their other ends.

use crate::identity::Identity;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// The ends that wait at most. A newcomer takes the place of the end that has waited longest.
pub(crate) const PLACES: usize = 4096;

/// The time that an end waits. Its other end counts the same messages, and comes with one of the next.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// Ends that wait for their other ends, with what belongs to each.
#[derive(Debug)]
pub(crate) struct Waiting<V> {
    ends: HashMap<Identity, (u64, V)>,
    /// The ends by age; those that have gone, too, up to their time.
    order: VecDeque<(Instant, u64, Identity)>,
    next: u64,
}

impl<V> Default for Waiting<V> {
    fn default() -> Self {
        Self { ends: HashMap::new(), order: VecDeque::new(), next: 0 }
    }
}

impl<V> Waiting<V> {
    /// Returns the other end of a newcomer, which waits no more.
    pub(crate) fn take_other(&mut self, identity: Identity) -> Option<V> {
        self.ends.remove(&identity.other()).map(|(_, visitor)| visitor)
    }

    /// Lets an end wait. Returns an end that has to go for it: an earlier claim of the same end, or the oldest.
    pub(crate) fn add(&mut self, identity: Identity, visitor: V, now: Instant) -> Option<V> {
        self.next += 1;
        let earlier = self.ends.insert(identity, (self.next, visitor)).map(|(_, visitor)| visitor);
        self.order.push_back((now, self.next, identity));
        earlier.or_else(|| if self.ends.len() > PLACES { self.pop() } else { None })
    }

    /// Returns an end whose time is up.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<(Identity, V)> {
        loop {
            let (since, number, identity) = *self.order.front()?;
            if now.saturating_duration_since(since) < PATIENCE && self.order.len() <= 2 * PLACES {
                return None;
            }
            self.order.pop_front();
            if let Some(visitor) = self.remove(number, identity) {
                return Some((identity, visitor));
            }
        }
    }

    fn pop(&mut self) -> Option<V> {
        while let Some((_, number, identity)) = self.order.pop_front() {
            if let Some(visitor) = self.remove(number, identity) {
                return Some(visitor);
            }
        }
        None
    }

    fn remove(&mut self, number: u64, identity: Identity) -> Option<V> {
        let is_same = self.ends.get(&identity).is_some_and(|(found, _)| *found == number);
        if is_same { self.ends.remove(&identity).map(|(_, visitor)| visitor) } else { None }
    }
}
