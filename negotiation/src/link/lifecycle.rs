//! The life of a link: its state, its receptions, and the tasks that wait for a change.

use super::state::{AtomicLinkState, End, LinkState};
use super::waker_list::WakerList;
use bertha_core::{Error, ErrorKind};
use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::task::{Context, Poll, Waker};

/// The life of a link, which its calls, its watchdog and its handshake share.
#[derive(Debug)]
pub(crate) struct Lifecycle {
    state: AtomicLinkState,
    /// Running count of receptions that show that the peer is there.
    arrivals: AtomicU32,
    /// Number of parked `recv` calls.
    parked: AtomicU32,
    /// True if a parked `recv` that reads was polled since the watchdog looked.
    is_polled: AtomicBool,
    /// The tasks to wake at a change. Locked only to park, which costs a switch of tasks anyway, and to wake.
    waiters: Mutex<WakerList>,
    /// The kind and the text of the error, if the link has ended for a reason that has a text.
    reason: Mutex<Option<(ErrorKind, String)>>,
}

impl Default for Lifecycle {
    /// Makes the life of a link that is up.
    fn default() -> Self {
        Self::new(LinkState::Up)
    }
}

impl Lifecycle {
    /// Makes the life of a link that begins in this state.
    pub(crate) fn new(state: LinkState) -> Self {
        Self {
            state: AtomicLinkState::new(state),
            arrivals: AtomicU32::new(0),
            parked: AtomicU32::new(0),
            is_polled: AtomicBool::new(false),
            waiters: Mutex::default(),
            reason: Mutex::default(),
        }
    }

    /// Returns true if the link is in this state.
    #[inline]
    pub(crate) fn is(&self, state: LinkState) -> bool {
        self.state.is(state)
    }

    /// Returns true if the link is usable, and a call has nothing to do before it uses the base.
    #[inline]
    pub(crate) fn is_up(&self) -> bool {
        self.state.is(LinkState::Up)
    }

    /// Returns true if calls can use the link. [`check`](Self::check) has the reason if they can't.
    pub(crate) fn is_usable(&self) -> bool {
        self.state.load().is_usable()
    }

    /// Checks that calls can use the link.
    ///
    /// # Errors
    /// The reason for which the link has ended, or [`Unavailable`](ErrorKind::Unavailable) before the
    /// server's answer.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.state.load() {
            LinkState::AnswerPending | LinkState::AddressUnvalidated | LinkState::Up => Ok(()),
            LinkState::Ended(end) => Err(self.error(end)),
            LinkState::AwaitingAnswer => {
                let error = Error::new(ErrorKind::Unavailable, "the server has not answered yet");
                Err(error.at("negotiation").sparing_connection())
            }
        }
    }

    #[cold]
    fn error(&self, end: End) -> Error {
        let reason = || self.reason.lock().clone();
        let (kind, what) = match end {
            End::Closed => (ErrorKind::Closed, "this end has closed the connection".into()),
            End::ClosedByPeer => (ErrorKind::Closed, "the peer has closed the connection".into()),
            End::DroppedByPeer => {
                let what = "the peer dropped the connection without closing it, so messages may be missing";
                (ErrorKind::Reset, what.into())
            }
            End::PeerFailed => {
                let (kind, text) = reason().unwrap_or((ErrorKind::Refused, String::new()));
                (kind, format!("the peer could not set up its stack: {text}"))
            }
            End::Reset => {
                let what = "the peer knows no such connection; it restarted or gave it up, so connect again";
                (ErrorKind::Reset, what.into())
            }
            End::TimedOut => {
                let what = "nothing was heard from the peer for the whole idle time-out";
                (ErrorKind::TimedOut, what.into())
            }
            End::Replaced => (ErrorKind::Closed, "the server agreed to another stack".into()),
            End::NotAgreed => reason().unwrap_or((ErrorKind::Refused, "the server did not agree".into())),
            End::Evicted => reason().unwrap_or((ErrorKind::Reset, "the server needed the room".into())),
            End::MessagesLost => reason().unwrap_or((ErrorKind::Reset, "messages were lost".into())),
            End::AddressNotValidated => {
                (ErrorKind::TimedOut, "the client did not confirm its address in time".into())
            }
        };
        Error::new(kind, what).at("negotiation").ending_connection()
    }

    /// Records that the server has agreed to the stack on the link: calls can use the link, unless it has
    /// ended.
    pub(super) fn answer_accepted(&self) {
        self.state.advance(LinkState::AwaitingAnswer, LinkState::Up);
    }

    /// Records that the answer has left. The peer's address is validated already, or not.
    pub(super) fn answer_sent(&self, is_address_validated: bool) {
        let next = if is_address_validated { LinkState::Up } else { LinkState::AddressUnvalidated };
        // A sibling waits until the link is up.
        if self.state.advance(LinkState::AnswerPending, next) && is_address_validated {
            self.wake();
        }
    }

    /// Records that the peer has proved its address.
    pub(super) fn address_validated(&self) {
        self.state.advance(LinkState::AddressUnvalidated, LinkState::Up);
        self.wake();
    }

    /// Records that the peer was heard: data arrived, or a genuine message about the connection. A plain
    /// store would do for one receiver, but there may be several.
    #[inline]
    pub(crate) fn arrived(&self) {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the running count of receptions that show that the peer is there.
    pub(crate) fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Relaxed)
    }

    /// Returns true if a `recv` is parked.
    pub(crate) fn has_parked_recv(&self) -> bool {
        self.parked.load(Ordering::Relaxed) > 0
    }

    /// Records that a parked `recv` that reads was polled.
    #[inline]
    pub(crate) fn polled(&self) {
        self.is_polled.store(true, Ordering::Relaxed);
    }

    /// Returns true if a parked `recv` would have seen the messages that arrived since the last call of this
    /// method. A `recv` that is kept and not polled sees no message, nor does a `recv` for which another
    /// `recv` reads. So this method wakes all of them, and the `recv` that reads then counts at the next
    /// call.
    pub(crate) fn take_attended(&self) -> bool {
        let is_attended = self.is_polled.swap(false, Ordering::Relaxed) && self.has_parked_recv();
        self.wake();
        is_attended
    }

    /// Records that a `recv` begins to wait.
    pub(crate) fn park(&self) {
        self.parked.fetch_add(1, Ordering::Relaxed);
    }

    /// Records that a `recv` no longer waits.
    pub(crate) fn unpark(&self) {
        self.parked.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ready with an error once the link has ended. Until then the next change of the link, or the next
    /// [`wake`](Self::wake), wakes the task.
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<Error> {
        let mut waiters = self.waiters.lock();
        // The state is read under the lock, which `end` takes after it has set the state, so no end is
        // missed.
        if let LinkState::Ended(end) = self.state.load() {
            return Poll::Ready(self.error(end));
        }
        waiters.register(context.waker());
        Poll::Pending
    }

    /// Wakes all waiting tasks, which then look again.
    pub(crate) fn wake(&self) {
        let woken = std::mem::take(&mut *self.waiters.lock());
        woken.into_iter().for_each(Waker::wake);
    }

    /// Ends the link and wakes all waiting tasks. Returns false if the link had ended before.
    pub(crate) fn end(&self, end: End) -> bool {
        let is_first = self.state.end(end);
        if is_first {
            self.wake();
        }
        is_first
    }

    /// Ends a link whose server has not answered, and wakes all waiting tasks. Returns true if the link was
    /// in that state.
    pub(super) fn end_before_answer(&self, end: End) -> bool {
        let is_first = self.state.advance(LinkState::AwaitingAnswer, LinkState::Ended(end));
        if is_first {
            self.wake();
        }
        is_first
    }

    /// Ends the link, because the peer has reported that it can't go on.
    pub(super) fn peer_failed(&self, failure: String) {
        self.end_because(End::PeerFailed, ErrorKind::Refused, failure);
    }

    /// Ends the link, because the server did not agree.
    pub(crate) fn not_agreed(&self, error: &Error) {
        self.end_because(End::NotAgreed, error.kind(), error.context().into());
    }

    /// Ends the link, because its server makes room for another connection.
    pub(super) fn evicted(&self, reason: &str) {
        self.end_because(End::Evicted, ErrorKind::Reset, reason.into());
    }

    /// Ends the link, because messages of a stack that was changed are lost. Returns false if the link had
    /// ended before.
    pub(super) fn messages_lost(&self, error: &Error) -> bool {
        let text = format!("messages before a change of the stack are lost: {}", error.context());
        self.end_because(End::MessagesLost, ErrorKind::Reset, text)
    }

    /// Ends the link with a text. Returns false if the link had ended before; its text stays.
    fn end_because(&self, end: End, kind: ErrorKind, text: String) -> bool {
        let mut reason = self.reason.lock();
        // The text is set before the state, and both under the lock, so a task that sees the end finds its
        // text.
        if matches!(self.state.load(), LinkState::Ended(_)) {
            return false;
        }
        *reason = Some((kind, text));
        let is_first = self.state.end(end);
        drop(reason);
        if is_first {
            self.wake();
        }
        is_first
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::super::waker_list::tests::Task;
    use super::*;
    use std::sync::Arc;

    #[test]
    fn a_task_that_waits_again_is_woken_again_and_once() {
        let lifecycle = Lifecycle::default();
        let [first, second] = [(); 2].map(|()| Arc::<Task>::default());
        let [one, other] = [&first, &second].map(|task| Waker::from(task.clone()));
        let waits = |waker| lifecycle.poll_ended(&mut Context::from_waker(waker)).is_pending();
        let woken = || [&first, &second].map(|task| task.0.load(Ordering::Relaxed));
        assert!(waits(&one) && waits(&one) && waits(&other) && waits(&one));
        lifecycle.wake();
        assert_eq!(woken(), [1, 1]);
        assert!(waits(&one) && waits(&one));
        lifecycle.wake();
        assert_eq!(woken(), [2, 1]);
        assert!(waits(&other) && waits(&one));
        lifecycle.end(End::ClosedByPeer);
        assert_eq!(woken(), [3, 2]);
        assert!(!waits(&one) && !waits(&other));
    }

    #[test]
    fn a_task_that_is_woken_for_want_of_room_registers_again() {
        const TASKS: usize = 65;
        let lifecycle = Lifecycle::default();
        let tasks: Vec<_> = (0..TASKS).map(|_| Arc::<Task>::default()).collect();
        let waits = |task: &Arc<Task>| {
            lifecycle.poll_ended(&mut Context::from_waker(&Waker::from(task.clone()))).is_pending()
        };
        // The last task finds no room, so all tasks before it are woken.
        assert!(tasks.iter().all(waits));
        assert!(waits(&tasks[TASKS - 2]));
        lifecycle.end(End::Closed);
        let woken = tasks.iter().map(|task| task.0.load(Ordering::Relaxed));
        assert!(woken.eq((0..TASKS).map(|number| if number == TASKS - 2 { 2 } else { 1 })));
    }

    #[test]
    fn the_text_of_the_first_end_stays() {
        let lifecycle = Lifecycle::default();
        lifecycle.peer_failed("no certificate".into());
        lifecycle.peer_failed("no room".into());
        lifecycle.not_agreed(&Error::new(ErrorKind::Refused, "no stack suits both ends"));
        assert!(!lifecycle.end(End::Closed));
        let error = lifecycle.check().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Refused);
        assert!(error.to_string().contains("could not set up its stack: no certificate"), "{error}");
    }

    #[test]
    fn a_link_advances_along_its_states_and_ends_once() {
        let lifecycle = Lifecycle::new(LinkState::AwaitingAnswer);
        let error = lifecycle.check().unwrap_err();
        assert!(error.kind() == ErrorKind::Unavailable && !error.ends_connection());
        lifecycle.address_validated();
        lifecycle.answer_sent(true);
        assert!(lifecycle.is(LinkState::AwaitingAnswer) && !lifecycle.is_up() && !lifecycle.is_usable());
        lifecycle.answer_accepted();
        assert!(lifecycle.is_up() && lifecycle.is_usable() && lifecycle.check().is_ok());
        assert!(!lifecycle.end_before_answer(End::Replaced) && lifecycle.is_up());
        for (is_validated, state) in [(true, LinkState::Up), (false, LinkState::AddressUnvalidated)] {
            let lifecycle = Lifecycle::new(LinkState::AnswerPending);
            let task = Arc::<Task>::default();
            let waker = Waker::from(task.clone());
            assert!(lifecycle.poll_ended(&mut Context::from_waker(&waker)).is_pending());
            lifecycle.answer_sent(is_validated);
            assert_eq!(task.0.load(Ordering::Relaxed), usize::from(is_validated), "woken once it is up");
            assert!(lifecycle.is(state) && lifecycle.check().is_ok());
            lifecycle.address_validated();
            assert!(lifecycle.is_up());
        }
        let lifecycle = Lifecycle::new(LinkState::AwaitingAnswer);
        assert!(lifecycle.end_before_answer(End::Replaced) && !lifecycle.end_before_answer(End::Replaced));
        assert!(!lifecycle.end(End::Closed));
        assert_eq!(lifecycle.check().unwrap_err().context(), "the server agreed to another stack");
    }

    #[test]
    fn every_end_has_its_error() {
        let failed = || Error::new(ErrorKind::TimedOut, "why");
        type Case<'a> = (&'a dyn Fn(&Lifecycle), ErrorKind, &'a str);
        let ends: [Case<'_>; 11] = [
            (&|it| _ = it.end(End::Closed), ErrorKind::Closed, "this end has closed"),
            (&|it| _ = it.end(End::ClosedByPeer), ErrorKind::Closed, "the peer has closed"),
            (&|it| _ = it.end(End::DroppedByPeer), ErrorKind::Reset, "the peer dropped"),
            (
                &|it| it.peer_failed("why".into()),
                ErrorKind::Refused,
                "the peer could not set up its stack: why",
            ),
            (&|it| _ = it.end(End::Reset), ErrorKind::Reset, "the peer knows no such connection"),
            (&|it| _ = it.end(End::TimedOut), ErrorKind::TimedOut, "nothing was heard"),
            (&|it| _ = it.end(End::Replaced), ErrorKind::Closed, "the server agreed to another"),
            (&|it| it.not_agreed(&failed()), ErrorKind::TimedOut, "why"),
            (&|it| _ = it.end(End::AddressNotValidated), ErrorKind::TimedOut, "the client did not confirm"),
            (&|it| it.evicted("why"), ErrorKind::Reset, "why"),
            (&|it| assert!(it.messages_lost(&failed())), ErrorKind::Reset, "messages before a change"),
        ];
        for (end, kind, text) in ends {
            let lifecycle = Lifecycle::default();
            end(&lifecycle);
            let error = lifecycle.check().unwrap_err();
            assert!(error.kind() == kind && error.context().starts_with(text), "{error}");
            assert!(error.ends_connection() && !lifecycle.messages_lost(&failed()));
            assert_eq!(lifecycle.check().unwrap_err().to_string(), error.to_string());
        }
    }

    #[test]
    fn a_reception_is_attended_if_it_is_parked_and_was_polled_lately() {
        let lifecycle = Lifecycle::default();
        assert!(!lifecycle.take_attended() && !lifecycle.has_parked_recv());
        lifecycle.park();
        lifecycle.park();
        assert!(lifecycle.has_parked_recv() && !lifecycle.take_attended(), "it was not polled");
        lifecycle.polled();
        assert!(lifecycle.take_attended() && !lifecycle.take_attended());
        lifecycle.unpark();
        assert!(lifecycle.has_parked_recv());
        lifecycle.unpark();
        lifecycle.polled();
        assert!(!lifecycle.has_parked_recv() && !lifecycle.take_attended(), "none is parked");
        lifecycle.arrived();
        lifecycle.arrived();
        assert_eq!(lifecycle.arrivals(), 2);
        let task = Arc::<Task>::default();
        let waker = Waker::from(task.clone());
        assert!(lifecycle.poll_ended(&mut Context::from_waker(&waker)).is_pending());
        lifecycle.take_attended();
        assert_eq!(task.0.load(Ordering::Relaxed), 1, "receptions look again");
    }
}
