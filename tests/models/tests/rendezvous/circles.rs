//! The check that a run can't go in circles: a property that holds in every state without successor holds at
//! the end of every run only if all runs are finite.

use stateright::Model;
use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};

/// Walks through all states, depth first, checks each state, and counts them.
///
/// # Panics
/// Panics if a state can be reached from itself, or if there are more than `most` states.
pub(crate) fn states_without_circles<M: Model<State: Hash + Clone>>(
    model: &M,
    most: usize,
    look_at: impl Fn(&M::State),
) -> usize {
    let hasher = RandomState::new();
    // The value is true while a state is on the way to the present state, and false once it is finished.
    let mut on_the_way: HashMap<u64, bool> = HashMap::new();
    let mut path: Vec<(u64, Vec<M::State>)> = Vec::new();
    let mut next = model.init_states();
    path.push((0, std::mem::take(&mut next)));
    while let Some((state, ahead)) = path.last_mut() {
        let Some(successor) = ahead.pop() else {
            on_the_way.insert(*state, false);
            path.pop();
            continue;
        };
        let number = hasher.hash_one(&successor);
        match on_the_way.get(&number) {
            Some(true) => panic!("a state is reached from itself, after {} steps", path.len()),
            Some(false) => {}
            None => {
                look_at(&successor);
                assert!(on_the_way.len() < most, "there is no end of states");
                on_the_way.insert(number, true);
                path.push((number, model.next_states(&successor)));
            }
        }
    }
    on_the_way.len()
}
