//! What clients are to learn about their streams of requests.

use crate::rpc::message::{CallId, Content};
use parking_lot::Mutex;
use std::task::{Context, Poll, Waker};

/// Grants and ends of streams of requests that were not sent to the client.
///
/// Bounded by the streams: a handler that has taken two grants of a stream gets no further request before they are sent.
#[derive(Debug, Default)]
pub(super) struct Due(Mutex<DueState>);

#[derive(Debug, Default)]
struct DueState {
    signals: Vec<(CallId, Content)>,
    /// The task that sends, while it waits.
    task: Option<Waker>,
}

impl Due {
    pub(super) fn add(&self, call: CallId, content: Content) {
        let task = {
            let mut state = self.0.lock();
            state.signals.push((call, content));
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

    pub(super) fn take(&self) -> Vec<(CallId, Content)> {
        std::mem::take(&mut self.0.lock().signals)
    }
}
