//! Ends that wait for their other ends.

use crate::identity::Identity;
use bertha_program::Crowd;
use std::collections::HashMap;
use std::time::{Duration, Instant};

/// The ends that wait at most. A newcomer takes the place of an end of the user who has most.
pub(crate) const PLACES: usize = 4096;

/// The time that an end waits. Its other end counts the same messages, and comes with one of the next.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// An end that waits for its other end.
#[derive(Debug)]
pub(crate) struct End<V> {
    pub(crate) identity: Identity,
    pub(crate) visitor: V,
    /// Why it gets no memory, if nothing else comes.
    pub(crate) reason: &'static str,
}

/// Ends that wait for their other ends.
#[derive(Debug)]
pub(crate) struct Waiting<V> {
    ends: Crowd<(Instant, End<V>)>,
    numbers: HashMap<Identity, u64>,
}

impl<V> Waiting<V> {
    /// Makes room for so many ends.
    pub(crate) fn new(places: usize) -> Self {
        Self { ends: Crowd::new(places), numbers: HashMap::new() }
    }

    /// Returns the other end of a newcomer, which waits no more.
    pub(crate) fn take_other(&mut self, identity: Identity) -> Option<End<V>> {
        self.take(identity.other())
    }

    /// Lets an end of a user wait. Returns the ends that have to go for it: an earlier claim of the same end, and one too many.
    pub(crate) fn add(
        &mut self,
        user: u32,
        end: End<V>,
        now: Instant,
    ) -> impl Iterator<Item = End<V>> + use<V> {
        let identity = end.identity;
        let earlier = self.take(identity);
        let (number, gone) = self.ends.add(user, (now, end));
        self.numbers.insert(identity, number);
        let gone = self.left(gone);
        earlier.into_iter().chain(gone)
    }

    /// Returns an end whose time is up.
    pub(crate) fn expired(&mut self, now: Instant) -> Option<End<V>> {
        let gone = self.ends.pop_oldest_if(|(since, _)| now.saturating_duration_since(*since) >= PATIENCE);
        self.left(gone)
    }

    /// Takes out the end that goes first if there is a lack.
    pub(crate) fn pop(&mut self) -> Option<End<V>> {
        let gone = self.ends.pop();
        self.left(gone)
    }

    fn take(&mut self, identity: Identity) -> Option<End<V>> {
        let number = self.numbers.remove(&identity)?;
        self.ends.remove(number).map(|(_, end)| end)
    }

    /// Forgets the number of an end that has left.
    fn left(&mut self, gone: Option<(Instant, End<V>)>) -> Option<End<V>> {
        let (_, end) = gone?;
        self.numbers.remove(&end.identity);
        Some(end)
    }
}
