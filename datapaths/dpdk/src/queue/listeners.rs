//! The listeners of a queue, by their ports and addresses.

use ahash::RandomState;
use bertha_netstack::{Binding, Flow};
use std::collections::HashMap;

/// The numbers of listeners. Listeners with a common port have no common address.
#[derive(Debug)]
pub(super) struct Listeners {
    numbers: HashMap<(u16, Binding), usize, RandomState>,
}

impl Listeners {
    pub(super) fn new() -> Self {
        Self { numbers: HashMap::with_hasher(RandomState::new()) }
    }

    /// Returns the listener that takes strangers with this flow.
    pub(super) fn find(&self, flow: Flow) -> Option<usize> {
        let number = |at| self.numbers.get(&(flow.local_port(), at)).copied();
        Binding::takers(flow).into_iter().find_map(number)
    }

    /// Returns true if a listener has the port at one of these addresses.
    #[cfg(feature = "tcp")]
    pub(super) fn has(&self, port: u16, at: Binding) -> bool {
        self.numbers.keys().any(|(taken, by)| *taken == port && by.overlaps(at))
    }

    pub(super) fn insert(&mut self, port: u16, at: Binding, number: usize) {
        self.numbers.insert((port, at), number);
    }

    pub(super) fn remove(&mut self, port: u16, at: Binding) {
        self.numbers.remove(&(port, at));
    }
}
