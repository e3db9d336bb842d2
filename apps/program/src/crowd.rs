//! A bounded number of things of users, of which no user keeps those of others out.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// A bounded number of things, oldest first, each of which is a user's. One too many costs the oldest of the user who has most: so a user who
/// brings many has own things go, and not those of others.
#[derive(Debug)]
pub struct Crowd<T> {
    most: usize,
    next: u64,
    things: BTreeMap<u64, (u32, T)>,
    /// The numbers of each user's things. No set is empty.
    users: HashMap<u32, BTreeSet<u64>>,
}

impl<T> Crowd<T> {
    /// Makes a crowd of so many things at most.
    pub fn new(most: usize) -> Self {
        Self { most, next: 0, things: BTreeMap::new(), users: HashMap::new() }
    }

    /// Takes a user's thing in. Returns its number, and the thing that has to go for it.
    pub fn add(&mut self, user: u32, thing: T) -> (u64, Option<T>) {
        let number = self.next;
        self.next += 1;
        self.things.insert(number, (user, thing));
        self.users.entry(user).or_default().insert(number);
        let gone = if self.things.len() > self.most { self.pop() } else { None };
        (number, gone)
    }

    /// Returns true if the next thing costs another.
    pub fn is_full(&self) -> bool {
        self.things.len() >= self.most
    }

    /// Returns the thing that would have to go first.
    pub fn first(&self) -> Option<&T> {
        self.things.get(&self.first_number()?).map(|(_, thing)| thing)
    }

    /// Takes out the oldest thing of the user who has most.
    pub fn pop(&mut self) -> Option<T> {
        self.remove(self.first_number()?)
    }

    fn first_number(&self) -> Option<u64> {
        let rank = |numbers: &BTreeSet<u64>| (numbers.len(), Reverse(numbers.first().copied()));
        self.users.values().max_by_key(|numbers| rank(numbers))?.first().copied()
    }

    /// Takes out the thing with a number.
    pub fn remove(&mut self, number: u64) -> Option<T> {
        let (user, thing) = self.things.remove(&number)?;
        if let Some(numbers) = self.users.get_mut(&user) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.users.remove(&user);
            }
        }
        Some(thing)
    }

    /// Takes out the oldest thing of all, if something is true of it.
    pub fn pop_oldest_if(&mut self, is_due: impl FnOnce(&T) -> bool) -> Option<T> {
        let (&number, (_, oldest)) = self.things.first_key_value()?;
        if is_due(oldest) { self.remove(number) } else { None }
    }

    /// Takes out the things that are not to be kept.
    pub fn retain(&mut self, mut is_kept: impl FnMut(&T) -> bool) {
        let leaving = self.things.iter().filter(|(_, (_, thing))| !is_kept(thing));
        for number in leaving.map(|(&number, _)| number).collect::<Vec<_>>() {
            self.remove(number);
        }
    }

    /// Returns the things, oldest first.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.values().map(|(_, thing)| thing)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: u32 = 0;
    const OTHER: u32 = 65534;

    #[test]
    fn a_user_who_brings_many_loses_own_things() {
        let mut crowd = Crowd::new(4);
        assert_eq!((crowd.add(ROOT, "root's first").1, crowd.is_full()), (None, false));
        let gone: Vec<_> = ["a", "b", "c", "d", "e"].map(|thing| crowd.add(OTHER, thing).1).to_vec();
        assert_eq!(gone, [None, None, None, Some("a"), Some("b")]);
        assert_eq!((crowd.is_full(), crowd.first()), (true, Some(&"c")));
        assert_eq!(crowd.add(ROOT, "root's second").1, Some("c"));
        assert_eq!(crowd.iter().copied().collect::<Vec<_>>(), ["root's first", "d", "e", "root's second"]);
    }

    #[test]
    fn of_users_with_as_many_the_one_with_the_oldest_loses_it() {
        let mut crowd = Crowd::new(3);
        let gone: Vec<_> = (0..5).map(|user| crowd.add(user, user).1).collect();
        assert_eq!(gone, [None, None, None, Some(0), Some(1)]);
    }

    #[test]
    fn what_leaves_in_any_way_is_not_counted() {
        let mut crowd = Crowd::new(3);
        let (first, _) = crowd.add(ROOT, 1);
        crowd.add(ROOT, 2);
        crowd.add(ROOT, 3);
        assert_eq!((crowd.remove(first), crowd.remove(first)), (Some(1), None));
        assert_eq!(
            (crowd.pop_oldest_if(|thing| *thing == 3), crowd.pop_oldest_if(|thing| *thing == 2)),
            (None, Some(2))
        );
        crowd.retain(|_| false);
        assert!(crowd.users.is_empty());
        assert_eq!((crowd.pop(), crowd.iter().count()), (None, 0));
    }
}
