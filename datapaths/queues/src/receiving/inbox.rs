//! The state that waiting calls share with the task that asks for messages.

use crate::closing::Closing;
use bertha_core::{Buf, Error};
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Messages that have arrived, and the number of awaited messages. The lock is held for moments, never across
/// an await.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<InboxState>,
    /// Notifies waiting calls that there may be a message or an error to take.
    arrived: Notify,
    /// Notifies the task that it may have to ask.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct InboxState {
    /// The messages, at most the burst of a call.
    messages: VecDeque<Buf>,
    error: Option<Error>,
    /// Number of awaited messages.
    wanted: usize,
}

impl InboxState {
    fn has_to_ask(&self) -> bool {
        self.wanted > 0 && self.messages.is_empty() && self.error.is_none()
    }
}

impl Inbox {
    /// Waits for at least one message, and takes all available messages, at most `limit`. Returns `None` if
    /// the connection is closed. Dropping the future loses nothing.
    ///
    /// # Errors
    /// Returns the error of the service.
    pub(crate) async fn take(&self, closing: &Closing, limit: usize) -> Option<Result<VecDeque<Buf>, Error>> {
        let mut waiting = Waiting { inbox: self, wanted: 0 };
        loop {
            // The future is created before the check, so that no notification is missed.
            let arrived = self.arrived.notified();
            if closing.is_closed() {
                return None;
            }
            {
                let mut state = self.state.lock();
                if !state.messages.is_empty() {
                    let count = limit.min(state.messages.len());
                    let rest = state.messages.split_off(count);
                    let taken = std::mem::replace(&mut state.messages, rest);
                    waiting.end(&mut state);
                    return Some(Ok(taken));
                }
                if let Some(error) = state.error.take() {
                    waiting.end(&mut state);
                    return Some(Err(error));
                }
                waiting.begin(&mut state, limit);
            }
            arrived.await;
        }
    }

    /// Waits until messages are awaited, and returns their number.
    pub(super) async fn wanted(&self) -> usize {
        loop {
            {
                let state = self.state.lock();
                if state.has_to_ask() {
                    return state.wanted;
                }
            }
            // A single task waits, and so a notification before this is kept.
            self.wanted.notified().await;
        }
    }

    /// Returns true if messages are awaited.
    pub(super) fn is_wanted(&self) -> bool {
        self.state.lock().has_to_ask()
    }

    /// Adds arrived messages, or an error.
    pub(super) fn put(&self, messages: VecDeque<Buf>, outcome: Result<(), Error>) {
        let mut state = self.state.lock();
        state.messages.extend(messages);
        state.error = outcome.err();
        drop(state);
        self.arrived.notify_waiters();
    }

    /// Returns the number of messages that wait for the application.
    pub(crate) fn len(&self) -> usize {
        self.state.lock().messages.len()
    }

    /// Closes the inbox: waiting calls look again. Returns the messages that no call took.
    pub(crate) fn close(&self) -> VecDeque<Buf> {
        let messages = std::mem::take(&mut self.state.lock().messages);
        self.arrived.notify_waiters();
        messages
    }
}

/// The registration of a call that waits for messages. It ends when the call ends or is dropped.
struct Waiting<'a> {
    inbox: &'a Inbox,
    wanted: usize,
}

impl Waiting<'_> {
    fn begin(&mut self, state: &mut InboxState, wanted: usize) {
        state.wanted = state.wanted - self.wanted + wanted;
        self.wanted = wanted;
        self.ask_on(state);
    }

    fn end(&mut self, state: &mut InboxState) {
        state.wanted -= std::mem::take(&mut self.wanted);
        self.ask_on(state);
    }

    /// Makes the task look if other calls still wait.
    fn ask_on(&self, state: &InboxState) {
        if state.has_to_ask() {
            self.inbox.wanted.notify_one();
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.wanted > 0 {
            let state = &mut *self.inbox.state.lock();
            state.wanted -= self.wanted;
        }
    }
}
