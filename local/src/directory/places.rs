//! The connections of a directory, by user, and which of them makes room, without I/O.

use std::collections::{BTreeSet, HashMap};

/// Connections of a user without a registration, at most.
const OF_USER: usize = 64;

/// The connections that have registered nothing. Each has a number, which grows with time.
#[derive(Debug, Default)]
pub(super) struct Places {
    unregistered: HashMap<u32, BTreeSet<u64>>,
}

impl Places {
    /// A connection of this user has come. Returns the one that has to go: the oldest of a user who has too many.
    pub(super) fn enter(&mut self, number: u64, user: u32) -> Option<u64> {
        let own = self.unregistered.entry(user).or_default();
        own.insert(number);
        (own.len() > OF_USER).then(|| own.pop_first()).flatten()
    }

    /// A connection has registered a service, or has gone.
    pub(super) fn leave(&mut self, number: u64, user: u32) {
        if let Some(own) = self.unregistered.get_mut(&user) {
            own.remove(&number);
            if own.is_empty() {
                self.unregistered.remove(&user);
            }
        }
    }

    /// The connection that has to go where there is no room for another: the oldest of the user with the most.
    pub(super) fn make_room(&mut self) -> Option<u64> {
        let (&user, own) = self.unregistered.iter_mut().max_by_key(|(_, own)| own.len())?;
        let oldest = own.pop_first();
        if own.is_empty() {
            self.unregistered.remove(&user);
        }
        oldest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_of_the_user_with_the_most_makes_room() {
        let mut places = Places::default();
        assert_eq!(places.make_room(), None);
        assert_eq!(places.enter(0, 7), None);
        for number in 1..=OF_USER as u64 {
            assert_eq!(places.enter(number, 8), None);
        }
        assert_eq!(places.enter(100, 8), Some(1));
        // A registration takes no such place.
        places.leave(2, 8);
        assert_eq!(places.enter(101, 8), None);
        assert_eq!(places.make_room(), Some(3));
        let left: Vec<_> = std::iter::from_fn(|| places.make_room()).collect();
        assert_eq!(left.len(), OF_USER, "all others");
        assert!(left.contains(&0) && places.unregistered.is_empty());
    }
}
