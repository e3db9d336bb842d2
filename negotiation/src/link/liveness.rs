//! The state of a link, in use or ended, and the tasks that wait for it.

use super::last_waiter::LastWaiter;
use bertha_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

/// How a link ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum End {
    /// This end closed it.
    Closed = 1,
    /// The peer closed it.
    ClosedByPeer = 2,
    /// The peer could not set up its stack.
    PeerFailed = 3,
    /// The peer knows no such connection.
    Reset = 4,
    /// Nothing was heard from the peer for too long.
    TimedOut = 5,
    /// The server agreed to another stack than the one that stands on this link.
    Replaced = 6,
    /// The server did not agree.
    NotAgreed = 7,
    /// The client did not show in time that its address is its own.
    Unproven = 8,
    /// The peer dropped its end without closing it.
    DroppedByPeer = 9,
}

/// In the place of an `End`: the link can't be used yet, since the server has not answered.
const OPENING: u8 = u8::MAX;

/// In the place of an `End`: the link can be used, and its answer, which waits for data to go with, goes first.
const ANSWERING: u8 = u8::MAX - 1;

/// In the place of an `End`: the link can be used, and its peer may not have the address that it names, so that calls take the
/// [slow way](super::unproven).
const UNPROVEN: u8 = u8::MAX - 2;

/// More waiting tasks than this are woken to ask again, so that the list stays short.
const WAITERS: usize = 64;

#[derive(Debug, Default)]
pub(crate) struct Liveness {
    /// `OPENING` at first if the link is there before the server has answered, `ANSWERING` if this end has yet to, then `UNPROVEN`
    /// until the client has shown its address, 0 while it is in use, then an `End`. The first end counts.
    ended: AtomicU8,
    /// A running count of receptions that show that the peer is there.
    arrivals: AtomicU32,
    /// The number of parked `recv`s.
    parked: AtomicU32,
    /// Whether one of them that reads was polled since the watchdog looked.
    is_polled: AtomicBool,
    /// Tasks to be woken by the end. Locked only to park, which costs a switch of tasks anyway, and to end.
    waiters: Mutex<Vec<Waker>>,
    /// The one of them that waited last.
    last_waiter: LastWaiter,
    /// The peer's account of its failure, or the reason why it did not agree.
    failure: Mutex<Option<(ErrorKind, String)>>,
}

impl Liveness {
    /// Of a link that can't be used yet.
    pub(crate) fn opening() -> Self {
        Self { ended: AtomicU8::new(OPENING), ..Self::default() }
    }

    /// Of a link whose answer has not left yet.
    pub(crate) fn answering() -> Self {
        Self { ended: AtomicU8::new(ANSWERING), ..Self::default() }
    }

    /// Of a link whose peer may not have the address that it names.
    pub(crate) fn unproven() -> Self {
        Self { ended: AtomicU8::new(UNPROVEN), ..Self::default() }
    }

    pub(crate) fn is_answering(&self) -> bool {
        self.ended.load(Ordering::Acquire) == ANSWERING
    }

    /// The answer has left, to an address that is proven or not.
    pub(crate) fn answered(&self, is_proven: bool) {
        let next = if is_proven { 0 } else { UNPROVEN };
        let _ = self.ended.compare_exchange(ANSWERING, next, Ordering::AcqRel, Ordering::Acquire);
    }

    pub(crate) fn is_unproven(&self) -> bool {
        self.ended.load(Ordering::Acquire) == UNPROVEN
    }

    /// The peer has the address that it names: from now on nothing has to be done before a call.
    pub(crate) fn proven(&self) {
        let _ = self.ended.compare_exchange(UNPROVEN, 0, Ordering::AcqRel, Ordering::Acquire);
        self.wake();
    }

    pub(crate) fn is_opening(&self) -> bool {
        self.ended.load(Ordering::Acquire) == OPENING
    }

    /// From now on the link can be used, unless it has ended.
    pub(crate) fn open(&self) {
        let _ = self.ended.compare_exchange(OPENING, 0, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Whether the link can be used, and nothing has to be done before. [`check`](Self::check) says why it can't.
    #[inline]
    pub(crate) fn is_alive(&self) -> bool {
        self.ended.load(Ordering::Acquire) == 0
    }

    /// Whether the link can be used, its answer sent or not, its peer's address proven or not.
    pub(crate) fn is_up(&self) -> bool {
        matches!(self.ended.load(Ordering::Acquire), 0 | ANSWERING | UNPROVEN)
    }

    /// An error unless the link can be used.
    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.ended.load(Ordering::Acquire) {
            0 | ANSWERING | UNPROVEN => Ok(()),
            end => Err(self.error(end)),
        }
    }

    #[cold]
    fn error(&self, end: u8) -> Error {
        let (kind, what) = match end {
            1 => (ErrorKind::Closed, "this end has closed the connection".into()),
            2 => (ErrorKind::Closed, "the peer has closed the connection".into()),
            3 => {
                let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                let (_, failure) = failure.clone().unwrap_or((ErrorKind::Refused, String::new()));
                (ErrorKind::Refused, format!("the peer could not set up its stack: {failure}"))
            }
            6 => (ErrorKind::Closed, "the server agreed to another stack".into()),
            7 => {
                let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
                failure.clone().unwrap_or((ErrorKind::Refused, "the server did not agree".into()))
            }
            8 => (ErrorKind::TimedOut, "the client did not confirm its address in time".into()),
            9 => {
                let what = "the peer dropped the connection without closing it, so messages may be missing";
                (ErrorKind::Reset, what.into())
            }
            OPENING => (ErrorKind::Unavailable, "the server has not answered yet".into()),
            4 => (
                ErrorKind::Reset,
                "the peer knows no such connection; it restarted or gave it up, so connect again".into(),
            ),
            _ => (
                ErrorKind::TimedOut,
                "nothing was heard from the peer for the whole idle time-out".to_owned(),
            ),
        };
        let error = Error::new(kind, what).at("negotiation");
        if is_end(end) { error.ending_connection() } else { error.sparing_connection() }
    }

    /// The peer was heard: data arrived, or a genuine message about the connection. A plain store would do for one receiver; there may be
    /// several.
    #[inline]
    pub(crate) fn arrived(&self) {
        self.arrivals.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn arrivals(&self) -> u32 {
        self.arrivals.load(Ordering::Relaxed)
    }

    pub(crate) fn is_awaited(&self) -> bool {
        self.parked.load(Ordering::Relaxed) > 0
    }

    /// A parked `recv` that reads was polled.
    #[inline]
    pub(crate) fn polled(&self) {
        self.is_polled.store(true, Ordering::Relaxed);
    }

    /// Whether a parked `recv` would have seen the messages that arrived since the last call. One that is kept and not
    /// polled sees nothing, nor does one for which another `recv` reads; so all are woken, and the one that reads then
    /// counts the next time.
    pub(crate) fn is_attended(&self) -> bool {
        let is_attended = self.is_polled.swap(false, Ordering::Relaxed) && self.is_awaited();
        self.wake();
        is_attended
    }

    pub(crate) fn park(&self) {
        self.parked.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn unpark(&self) {
        self.parked.fetch_sub(1, Ordering::Relaxed);
    }

    /// Ready with an error once the link has ended; else wakes the task then.
    #[inline]
    pub(crate) fn poll_ended(&self, context: &mut Context<'_>) -> Poll<Error> {
        if self.last_waiter.is(context.waker()) && self.is_alive() {
            // An end of the link, now or later, wakes this task.
            return Poll::Pending;
        }
        self.remember(context.waker())
    }

    #[cold]
    #[inline(never)]
    fn remember(&self, waker: &Waker) -> Poll<Error> {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        // Under the lock, which `end` takes after it has set the flag, so no end is missed.
        let ended = self.ended.load(Ordering::Acquire);
        if is_end(ended) {
            return Poll::Ready(self.error(ended));
        }
        // From the last: tasks that wait again and again stand behind those that wait for the end alone.
        let is_known = |waiters: &[Waker], waker| waiters.iter().rev().any(|waiter| waiter.will_wake(waker));
        if is_known(&waiters, waker) {
            self.last_waiter.set(waker);
            return Poll::Pending;
        }
        // With some executors it is only another clone that equals a clone.
        let waker = waker.clone();
        if !is_known(&waiters, &waker) {
            if waiters.len() >= WAITERS {
                waiters.drain(..).for_each(Waker::wake);
            }
            self.last_waiter.set(&waker);
            waiters.push(waker);
        }
        Poll::Pending
    }

    /// Wakes all waiting tasks, to look again.
    pub(crate) fn wake(&self) {
        let mut waiters = self.waiters.lock().unwrap_or_else(PoisonError::into_inner);
        self.last_waiter.forget();
        let woken = std::mem::take(&mut *waiters);
        drop(waiters);
        woken.into_iter().for_each(Waker::wake);
    }

    /// Ends the link and wakes all waiting tasks, unless it has ended already. Returns whether this call ended it.
    pub(crate) fn end(&self, end: End) -> bool {
        let alive = |ended| (!is_end(ended)).then_some(end as u8);
        let first = self.ended.fetch_update(Ordering::AcqRel, Ordering::Acquire, alive).is_ok();
        if first {
            self.wake();
        }
        first
    }

    /// Ends a link that can't be used yet, and wakes all waiting tasks. Returns whether it was such a link.
    pub(crate) fn end_unopened(&self, end: End) -> bool {
        let was =
            self.ended.compare_exchange(OPENING, end as u8, Ordering::AcqRel, Ordering::Acquire).is_ok();
        if was {
            self.wake();
        }
        was
    }

    /// Ends the link because the peer said that it can't go on.
    pub(crate) fn peer_failed(&self, failure: String) {
        self.fail(End::PeerFailed, ErrorKind::Refused, failure);
    }

    /// Ends the link because the server did not agree.
    pub(crate) fn not_agreed(&self, error: &Error) {
        self.fail(End::NotAgreed, error.kind(), error.context().into());
    }

    fn fail(&self, end: End, kind: ErrorKind, failure: String) {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some((kind, failure));
        self.end(end);
    }
}

/// Whether this stands for an [`End`].
const fn is_end(ended: u8) -> bool {
    !matches!(ended, 0 | OPENING | ANSWERING | UNPROVEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicUsize;
    use std::task::Wake;

    #[derive(Default)]
    struct Task(AtomicUsize);

    impl Wake for Task {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn who_waits_again_is_woken_again_and_once() {
        let liveness = Liveness::default();
        let [first, second] = [(); 2].map(|()| Arc::<Task>::default());
        let [one, other] = [&first, &second].map(|task| Waker::from(task.clone()));
        let waits = |waker| liveness.poll_ended(&mut Context::from_waker(waker)).is_pending();
        let woken = || [&first, &second].map(|task| task.0.load(Ordering::Relaxed));
        assert!(waits(&one) && waits(&one) && waits(&other) && waits(&one));
        liveness.wake();
        assert_eq!(woken(), [1, 1]);
        assert!(waits(&one) && waits(&one));
        liveness.wake();
        assert_eq!(woken(), [2, 1]);
        assert!(waits(&other) && waits(&one));
        liveness.end(End::ClosedByPeer);
        assert_eq!(woken(), [3, 2]);
        assert!(!waits(&one) && !waits(&other));
    }

    #[test]
    fn who_is_woken_for_want_of_room_says_again_that_it_waits() {
        let liveness = Liveness::default();
        let tasks: Vec<_> = (0..=WAITERS).map(|_| Arc::<Task>::default()).collect();
        let waits = |task: &Arc<Task>| {
            liveness.poll_ended(&mut Context::from_waker(&Waker::from(task.clone()))).is_pending()
        };
        // The last one finds no room; so all others are woken, the one that waited before it among them.
        assert!(tasks.iter().all(waits));
        assert!(waits(&tasks[WAITERS - 1]));
        liveness.end(End::Closed);
        let woken = tasks.iter().map(|task| task.0.load(Ordering::Relaxed));
        assert!(woken.eq((0..=WAITERS).map(|number| if number == WAITERS - 1 { 2 } else { 1 })));
    }
}
