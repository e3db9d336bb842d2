//! Clean-up that a second signal does not cut off.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// Longest time for which a second signal waits.
const LONGEST: Duration = Duration::from_secs(5);

/// The values that a second signal waits for.
#[derive(Debug, Default)]
pub(crate) struct Holds {
    number: Mutex<usize>,
    released: Condvar,
}

impl Holds {
    pub(crate) fn take(self: &Arc<Self>) -> Hold {
        self.change(|number| number + 1);
        Hold(self.clone())
    }

    /// Blocks the thread until all values are dropped, or until the longest time is over.
    pub(crate) fn until_released(&self) {
        let number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        let _released = self.released.wait_timeout_while(number, LONGEST, |number| *number > 0);
    }

    fn change(&self, change: impl FnOnce(usize) -> usize) {
        let mut number = self.number.lock().unwrap_or_else(PoisonError::into_inner);
        *number = change(*number);
        self.released.notify_all();
    }
}

/// A value that keeps a second signal from ending the process until it is dropped, for five seconds at most.
#[derive(Debug)]
#[must_use = "a second signal does not wait for a value that is dropped"]
pub struct Hold(Arc<Holds>);

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.change(|number| number.saturating_sub(1));
    }
}
