//! The number of messages that plans move, for tests.

use std::cell::Cell;

thread_local! {
    static WALKS: Cell<u64> = const { Cell::new(0) };
}

/// Counts a message.
pub(crate) fn count() {
    WALKS.set(WALKS.get() + 1);
}

/// Returns the number of messages that plans have copied, encoded and decoded on this thread.
pub fn walks() -> u64 {
    WALKS.get()
}
