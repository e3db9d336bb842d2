//! The signals to clients about their streams of requests.

use crate::rpc::message::{CallId, Content};
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

/// Grants and ends of streams of requests that were not sent to the client.
///
/// The number of signals is at most one for each stream: a later grant has all that an earlier one has, and none follows the end.
#[derive(Debug, Default)]
pub(super) struct Due(Mutex<DueState>);

#[derive(Debug, Default)]
struct DueState {
    signals: BTreeMap<CallId, Content>,
    /// The task that sends, while it waits.
    task: Option<Waker>,
}

impl Due {
    pub(super) fn add(&self, call: CallId, content: Content) {
        let task = {
            let mut state = self.0.lock();
            state.signals.insert(call, content);
            state.task.take()
        };
        task.into_iter().for_each(Waker::wake);
    }

    /// Ready if there is something to send; or `cx` is woken once there is.
    pub(super) fn poll(&self, cx: &Context<'_>) -> Poll<()> {
        let mut state = self.0.lock();
        if !state.signals.is_empty() {
            return Poll::Ready(());
        }
        state.task = Some(cx.waker().clone());
        Poll::Pending
    }

    pub(super) fn take(&self) -> BTreeMap<CallId, Content> {
        std::mem::take(&mut self.0.lock().signals)
    }

    /// Drops what the client of a call that is over would learn.
    pub(super) fn forget(&self, call: CallId) {
        self.0.lock().signals.remove(&call);
    }
}
