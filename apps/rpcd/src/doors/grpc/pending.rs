//! Calls that wait for their outcomes.

use crate::failures::details::Details;
use bertha_managed::{Descriptor, Refusal};
use parking_lot::Mutex;
use std::collections::HashMap;
use tokio::sync::oneshot;

/// The outcome of a call: the descriptor of a response, whose frame waits at its party, or a failure with its details.
pub(super) type Outcome = Result<Descriptor, (Refusal, Details)>;

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

    /// Ends a call. Returns the outcome if nobody waits for it.
    pub(super) fn end(&self, call: u64, outcome: Outcome) -> Result<(), Outcome> {
        let waiting = self.calls.lock().open.remove(&call);
        match waiting {
            Some(waiting) => waiting.send(outcome),
            None => Err(outcome),
        }
    }
}
