//! The state that waiting calls share with the task that asks for messages.

use crate::closing::Closing;
use bertha_core::{Buf, Error};
use parking_lot::Mutex;
use std::collections::VecDeque;
use tokio::sync::Notify;

/// Messages that have arrived, and how many are waited for. The lock is held for moments, never across an await.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    state: Mutex<State>,
    /// Notified when there may be a message or an error to take.
    arrived: Notify,
    /// Notified when the task may have to ask.
    wanted: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// At most the burst of one call.
    messages: VecDeque<Buf>,
    error: Option<Error>,
    /// The number of messages that are waited for.
    wanted: usize,
}

impl State {
    fn has_to_ask(&self) -> bool {
        self.wanted > 0 && self.messages.is_empty() && self.error.is_none()
    }
}

impl Inbox {
    /// Waits for at least one message, and takes all that are there, at most `limit`. `None` if the connection is closed. Nothing is
    /// lost if the future is dropped.
    ///
    /// # Errors
    /// That of the service.
    pub(crate) async fn take(&self, closing: &Closing, limit: usize) -> Option<Result<VecDeque<Buf>, Error>> {
        let mut waiting = Waiting { inbox: self, wanted: 0 };
        loop {
            // Created before the check, so that no notification is missed.
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

    /// Waits until messages are waited for, and returns their number.
    pub(super) async fn wanted(&self) -> usize {
        loop {
            {
                let state = self.state.lock();
                if state.has_to_ask() {
                    return state.wanted;
                }
            }
            // One task waits, and so a notification before this is kept.
            self.wanted.notified().await;
        }
    }

    /// Whether messages are waited for.
    pub(super) fn is_wanted(&self) -> bool {
        self.state.lock().has_to_ask()
    }

    /// Messages have arrived, or an error.
    pub(super) fn put(&self, messages: VecDeque<Buf>, outcome: Result<(), Error>) {
        let mut state = self.state.lock();
        state.messages.extend(messages);
        state.error = outcome.err();
        drop(state);
        self.arrived.notify_waiters();
    }

    /// The connection is closed: those that wait look again. Returns the messages that nobody took.
    pub(crate) fn close(&self) -> VecDeque<Buf> {
        let messages = std::mem::take(&mut self.state.lock().messages);
        self.arrived.notify_waiters();
        messages
    }
}

/// A call that waits for messages, dropped or not.
struct Waiting<'a> {
    inbox: &'a Inbox,
    wanted: usize,
}

impl Waiting<'_> {
    fn begin(&mut self, state: &mut State, wanted: usize) {
        state.wanted = state.wanted - self.wanted + wanted;
        self.wanted = wanted;
        self.ask_on(state);
    }

    fn end(&mut self, state: &mut State) {
        state.wanted -= std::mem::take(&mut self.wanted);
        self.ask_on(state);
    }

    /// Has the task look if others still wait.
    fn ask_on(&self, state: &State) {
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
