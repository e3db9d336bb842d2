//! Calls that wait for their outcomes.

use bertha_managed::Refusal;
use bertha_schemas::PrivateMemory;
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// The outcome of a call: the frame of a response with the address of its message, or the reason of a failure.
pub(super) type Outcome = Result<(PrivateMemory, u64), Refusal>;

/// The calls of a party that wait for their outcomes, by their numbers.
#[derive(Debug, Default)]
pub(super) struct Pending {
    calls: Mutex<Calls>,
}

#[derive(Debug, Default)]
struct Calls {
    last: u64,
    open: HashMap<u64, oneshot::Sender<Outcome>>,
}

impl Pending {
    /// Begins a call, and returns its number and the place of its outcome.
    pub(super) fn begin(&self) -> (u64, oneshot::Receiver<Outcome>) {
        let (sender, outcome) = oneshot::channel();
        let mut calls = self.calls.lock();
        calls.last += 1;
        let number = calls.last;
        calls.open.insert(number, sender);
        (number, outcome)
    }

    /// Forgets a call. Returns true if it had no outcome.
    pub(super) fn forget(&self, call: u64) -> bool {
        self.calls.lock().open.remove(&call).is_some()
    }

    /// Ends a call.
    pub(super) fn end(&self, call: u64, outcome: Outcome) {
        let waiting = self.calls.lock().open.remove(&call);
        if let Some(waiting) = waiting {
            // The one that waits may have gone at this moment.
            let _gone = waiting.send(outcome);
        }
    }
}
