//! The state of a connection as its senders, receivers and task share it.

use super::state::State;
use super::statistics::PoliciesStatistics;
use super::under_way::number;
use crate::{Burst, Chain, Refusal, Signal};
use bertha_chunnels::rpc::{self, FailureKind, MessageKind};
use bertha_core::statistics::Observed;
use bertha_core::{Error, ErrorKind, Statistics};
use parking_lot::{Mutex, MutexGuard};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Number of answers that wait to be sent above which no further call is received.
const ANSWERS: usize = 64;

/// Number of failures that wait to be received above which no further call is sent.
const FAILURES: usize = 1_024;

/// The state of a connection, and whom its changes wake.
#[derive(Debug)]
pub(super) struct Flow {
    inner: Mutex<Inner>,
    /// The signal that the task has something to do.
    pub(super) to_do: Arc<Signal>,
    /// The signal that there is a message to receive, or one that may be received.
    pub(super) to_receive: Notify,
    /// The signal that a message was sent or received.
    changed: Notify,
}

#[derive(Debug)]
struct Inner {
    state: State,
    /// True while the task sends.
    is_sending: bool,
    /// The calls that the task sends.
    sending: Vec<rpc::CallId>,
    /// The time until which the task sleeps.
    alarm: Option<Duration>,
    is_closed: bool,
    /// The error with which the connection has ended.
    end: Option<(ErrorKind, String)>,
}

/// The next step of the task of a connection.
pub(super) enum Work {
    Send,
    WaitUntil(Option<Duration>),
    End,
}

impl Flow {
    pub(super) fn new(state: State, to_do: Arc<Signal>) -> Self {
        let inner =
            Inner { state, is_sending: false, sending: Vec::new(), alarm: None, is_closed: false, end: None };
        let (to_receive, changed) = Default::default();
        Self { inner: Mutex::new(inner), to_do, to_receive, changed }
    }

    /// Waits until a call may be sent.
    ///
    /// # Errors
    /// Fails if the connection has ended.
    pub(super) async fn room(&self) -> Result<(), Error> {
        loop {
            // Created before the check, so that no change is missed.
            let changed = self.changed.notified();
            {
                let inner = self.inner.lock();
                inner.check()?;
                // What engines have held goes first, and failures are to be taken.
                let has_room =
                    inner.state.down.is_empty() && !inner.is_sending && inner.state.up.len() < FAILURES;
                if inner.state.serves() || has_room {
                    return Ok(());
                }
            }
            changed.await;
        }
    }

    /// Takes a message of the layer above. Returns it if it goes on at once.
    pub(super) fn outgoing(&self, message: rpc::Message, now: Duration) -> Option<rpc::Message> {
        let (call, kind) = (message.call(), message.kind());
        let mut inner = self.inner.lock();
        let Inner { state, is_sending, .. } = &mut *inner;
        let before = state.down.len();
        state.outgoing(message, now);
        // A call passes no other, and its cancellation does not pass it. The rest is about calls that have gone on.
        let has_turn =
            matches!(kind, MessageKind::Call { .. } | MessageKind::Cancellation) && !state.serves();
        let direct = if state.down.len() != before + 1 || has_turn && (before > 0 || *is_sending) {
            None
        } else {
            state.down.pop_back_if(|last| last.call() == call)
        };
        self.wake(inner);
        direct
    }

    /// Takes a message of the layer below.
    pub(super) fn incoming(&self, message: rpc::Message, now: Duration) {
        let mut inner = self.inner.lock();
        inner.state.incoming(message, now);
        self.wake(inner);
    }

    /// Returns the next message for the layer above.
    pub(super) fn receive(&self) -> Option<rpc::Message> {
        let mut inner = self.inner.lock();
        let message = inner.state.up.pop_front()?;
        if inner.state.up.len() + 1 == FAILURES {
            self.changed.notify_waiters();
        }
        self.wake(inner);
        Some(message)
    }

    /// Returns true if calls are not to be received before answers were sent.
    pub(super) fn is_clogged(&self) -> bool {
        let inner = self.inner.lock();
        inner.state.serves() && inner.state.down.len() > ANSWERS && inner.end.is_none()
    }

    /// Ends a call that the layer below did not send.
    pub(super) fn not_sent(&self, call: rpc::CallId, refusal: Refusal, now: Duration) {
        let mut inner = self.inner.lock();
        inner.state.not_sent(number(call), refusal, now);
        self.wake(inner);
    }

    /// Changes the engines.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Chain) -> T) -> T {
        let mut inner = self.inner.lock();
        let changed = change(&mut inner.state.chain);
        self.wake(inner);
        changed
    }

    /// Lets all calls go on that engines hold, and waits until everything is sent or the connection has ended.
    pub(super) async fn flush(&self, now: Duration) {
        self.release(now);
        loop {
            let changed = self.changed.notified();
            {
                let inner = self.inner.lock();
                if inner.end.is_some() || (inner.state.down.is_empty() && !inner.is_sending) {
                    return;
                }
            }
            changed.await;
        }
    }

    fn release(&self, now: Duration) {
        let mut inner = self.inner.lock();
        inner.state.release(now);
        self.wake(inner);
    }

    /// Makes later messages fail.
    pub(super) fn close(&self) {
        self.inner.lock().is_closed = true;
        self.changed.notify_waiters();
    }

    /// Drops what was not received, after the layer below has closed.
    pub(super) fn clear(&self) {
        self.inner.lock().state.up.clear();
    }

    /// Makes later messages fail by the error that has ended the connection.
    pub(super) fn end(&self, error: &Error) {
        let mut inner = self.inner.lock();
        inner.end.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
        drop(inner);
        self.changed.notify_waiters();
        self.to_receive.notify_one();
        self.to_do.tell();
    }

    /// Returns what the task does next.
    pub(super) fn work(&self, now: Duration) -> Work {
        let mut inner = self.inner.lock();
        let mut work = Work::End;
        if inner.end.is_none() {
            if self.to_do.take_woken() {
                inner.state.pass(now);
            }
            // As many turns as let all calls go on, so that an engine that is always due keeps nobody from the state.
            let turns = 2 + inner.state.calls.len() / Burst::LONGEST;
            for _ in 0..turns {
                if !inner.state.down.is_empty() || !inner.state.turn(now) {
                    break;
                }
            }
            inner.is_sending = !inner.state.down.is_empty();
            inner.alarm = inner.state.chain.due();
            work = if inner.is_sending { Work::Send } else { Work::WaitUntil(inner.alarm) };
        }
        self.wake_receiver(&inner);
        work
    }

    /// Returns the next message that the task sends.
    pub(super) fn next(&self) -> Option<rpc::Message> {
        let mut inner = self.inner.lock();
        let message = inner.state.down.pop_front()?;
        if let MessageKind::Call { .. } | MessageKind::Failure(_) = message.kind() {
            inner.sending.push(message.call());
        }
        Some(message)
    }

    /// Takes note of what the task has sent. The calls of messages that were not sent fail.
    pub(super) fn sent(&self, sent: Result<(), Error>, now: Duration) {
        let mut inner = self.inner.lock();
        inner.is_sending = false;
        let mut sending = std::mem::take(&mut inner.sending);
        match sent {
            Err(error) if error.ends_connection() => {
                inner.end.get_or_insert_with(|| (error.kind(), error.context().to_owned()));
            }
            Err(error) => {
                let refusal = refusal_of(&error);
                for call in &sending {
                    inner.state.fail_sent(*call, refusal.clone(), now);
                }
            }
            Ok(()) => {}
        }
        sending.clear();
        inner.sending = sending;
        self.wake(inner);
        self.changed.notify_waiters();
        // A receiver may have waited until answers were sent.
        self.to_receive.notify_one();
    }

    /// Wakes those who have something to do by what the state has become.
    fn wake(&self, inner: MutexGuard<'_, Inner>) {
        let due = inner.state.chain.due();
        let is_sooner = due.is_some_and(|due| inner.alarm.is_none_or(|alarm| due < alarm));
        if !inner.is_sending && (is_sooner || !inner.state.down.is_empty()) {
            self.to_do.tell();
        }
        self.wake_receiver(&inner);
    }

    fn wake_receiver(&self, inner: &MutexGuard<'_, Inner>) {
        if !inner.state.up.is_empty() {
            self.to_receive.notify_one();
        }
    }
}

impl Inner {
    fn check(&self) -> Result<(), Error> {
        if self.is_closed {
            return Err(Error::new(ErrorKind::Closed, "this end closed the connection").at("Policies"));
        }
        match &self.end {
            Some((kind, what)) => Err(Error::new(*kind, what.clone()).at("Policies").ending_connection()),
            None => Ok(()),
        }
    }
}

impl Observed for Flow {
    fn observe(&self, into: &mut Statistics) {
        let inner = self.inner.lock();
        let state = &inner.state;
        let (held, held_bytes) = state.calls.of_held();
        let statistics = PoliciesStatistics {
            under_way: state.calls.len() as u64,
            held: held as u64,
            held_bytes: held_bytes as u64,
            refused: state.refused,
        };
        into.add("Policies", statistics);
    }
}

/// Returns the reason why a call has no outcome that the layer below did not send.
#[cold]
pub(super) fn refusal_of(error: &Error) -> Refusal {
    let kind = match error.kind() {
        ErrorKind::TooLarge => FailureKind::TooLarge,
        ErrorKind::Exhausted => FailureKind::Overloaded,
        _ => FailureKind::Disconnected,
    };
    Refusal { kind, reason: error.to_string().into() }
}
