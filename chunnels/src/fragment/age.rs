//! The order in which messages began.

use std::cmp::Ordering;

/// The number of messages of the connection that began before a message. It is a type of its own, so that
/// tests can count comparisons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Age(pub(super) u64);

impl Ord for Age {
    fn cmp(&self, other: &Self) -> Ordering {
        #[cfg(test)]
        COMPARED.set(COMPARED.get() + 1);
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Age {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
thread_local! {
    /// Number of comparisons of ages on this thread.
    pub(super) static COMPARED: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_began_later_is_younger() {
        let before = COMPARED.get();
        assert!(Age(1) < Age(2) && Age(2) > Age(1) && Age(2) >= Age(2));
        assert_eq!(COMPARED.get() - before, 3);
    }
}
