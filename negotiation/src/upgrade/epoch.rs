//! An epoch: the time during which a connection uses one stack.

use super::slots::Slots;
use super::sync::{Arc, AtomicBool, Mutex, MutexGuard, Ordering};
use bertha_core::{Error, ErrorKind};
use tokio::sync::Notify;

/// One stack of a connection.
pub(crate) struct Epoch<C> {
    pub connection: C,
    /// True if no more messages arrive from the link below the stack, so that an error from it means that it
    /// is empty.
    is_over: AtomicBool,
    is_empty: AtomicBool,
    /// True if the stack ended with the peer's close.
    was_closed: AtomicBool,
    /// The epoch before, if the peer may have closed in that epoch and not used this epoch.
    before: Mutex<Option<Arc<Epoch<C>>>>,
}

impl<C> Epoch<C> {
    pub(crate) fn new(connection: C) -> Arc<Self> {
        let [is_over, is_empty, was_closed] = std::array::from_fn(|_| AtomicBool::new(false));
        Arc::new(Self { connection, is_over, is_empty, was_closed, before: Mutex::new(None) })
    }

    /// Records that no more messages arrive at the bottom of the stack.
    pub(crate) fn end(&self) {
        self.is_over.store(true, Ordering::Release);
    }

    /// Returns true if a reception found the stack empty after its [`end`](Self::end).
    pub(crate) fn is_empty(&self) -> bool {
        self.is_empty.load(Ordering::Acquire)
    }

    /// Returns true if a reception failed with `error` because the epoch is over; receivers are then asked to
    /// leave it. Further messages may follow an error that does not end the connection.
    #[cold]
    pub(super) fn has_run_dry(&self, error: &Error, receivers: &Slots<Self>) -> bool {
        if !self.is_over.load(Ordering::Acquire) || !error.ends_connection() {
            return false;
        }
        self.was_closed.store(error.kind() == ErrorKind::Closed, Ordering::Release);
        self.is_empty.store(true, Ordering::Release);
        receivers.close();
        true
    }

    /// Records that the peer may not have used this epoch, but closed in the epoch `before`, which has run
    /// dry before this epoch is read.
    pub(super) fn may_be_unused(&self, before: &Arc<Self>) {
        *self.before.lock() = Some(before.clone());
    }

    /// Returns the end of the connection, where a reception has failed with `error`. If no message came in
    /// this epoch, and the peer may not have used it, a close in the epoch before is the connection's end.
    #[cold]
    pub(super) fn end_of_connection(&self, error: Error, receivers: &Slots<Self>) -> Error {
        let was_closed = |before: &Arc<Self>| before.was_closed.load(Ordering::Acquire);
        let is_unused = error.ends_connection()
            && error.kind() != ErrorKind::Closed
            && self.before.lock().as_ref().is_some_and(was_closed)
            && receivers.total() == 0;
        match is_unused {
            true => Error::new(ErrorKind::Closed, "the peer has closed the connection")
                .at("negotiation")
                .ending_connection(),
            false => error,
        }
    }
}

/// The epochs of a connection: the epoch in force for sending, and the epoch in force for receiving.
pub(crate) struct Epochs<C> {
    /// The slots of sends. They count the messages that the application sent, or may have sent: it may cancel
    /// a `send` that waits.
    pub(crate) sending: Slots<Epoch<C>>,
    pub(crate) receiving: Slots<Epoch<C>>,
    /// The epoch in which this end sends.
    newest: Mutex<Arc<Epoch<C>>>,
    /// Tells if the link below all stacks has ended.
    has_link_ended: Box<dyn Fn() -> bool + Send + Sync>,
    /// True once this end has begun to close.
    is_closing: AtomicBool,
    /// True once the task knows which epoch is the last.
    is_last_known: AtomicBool,
    last_known: Notify,
}

impl<C> Epochs<C> {
    /// Makes the epochs of a connection that begins with the epoch `first`. `has_link_ended` tells if the
    /// link below all stacks has ended; it is asked only about receptions that have failed.
    pub(crate) fn new(
        first: &Arc<Epoch<C>>,
        has_link_ended: impl Fn() -> bool + Send + Sync + 'static,
    ) -> Self {
        Self {
            sending: Slots::new(first),
            receiving: Slots::new(first),
            newest: Mutex::new(first.clone()),
            has_link_ended: Box::new(has_link_ended),
            is_closing: AtomicBool::new(false),
            is_last_known: AtomicBool::new(false),
            last_known: Notify::new(),
        }
    }

    /// Returns true if a reception that has failed with `error` has to wait until the task knows the last
    /// epoch of the connection, which may have messages.
    #[cold]
    pub(super) fn awaits_last(&self, error: &Error) -> bool {
        error.ends_connection() && !self.is_last_known.load(Ordering::Acquire) && (self.has_link_ended)()
    }

    /// Waits until the task knows the last epoch of the connection.
    #[cold]
    pub(super) async fn until_last_known(&self) {
        loop {
            // Created before the check, so that no notification is missed.
            let known = self.last_known.notified();
            if self.is_last_known.load(Ordering::Acquire) {
                return;
            }
            known.await;
        }
    }

    /// Records that this end closes.
    pub(super) fn begin_close(&self) {
        self.is_closing.store(true, Ordering::Release);
    }

    /// Returns true if this end has begun to close.
    pub(super) fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    /// Returns the epoch in which this end sends.
    pub(crate) fn newest(&self) -> Arc<Epoch<C>> {
        self.lock().clone()
    }

    pub(super) fn set_newest(&self, epoch: &Arc<Epoch<C>>) {
        *self.lock() = epoch.clone();
    }

    fn lock(&self) -> MutexGuard<'_, Arc<Epoch<C>>> {
        self.newest.lock()
    }
}

/// The task's duty to find the last epoch. Dropping it says that the task knows the epoch, or has failed, so
/// that no reception waits in vain.
pub(super) struct LastEpochUnknown<C>(pub(super) Arc<Epochs<C>>);

impl<C> Drop for LastEpochUnknown<C> {
    fn drop(&mut self) {
        self.0.is_last_known.store(true, Ordering::Release);
        self.0.last_known.notify_waiters();
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn error(kind: ErrorKind) -> Error {
        Error::new(kind, "no message comes").ending_connection()
    }

    #[test]
    fn a_stack_runs_dry_behind_its_end_alone() {
        let epoch = Epoch::new(());
        let receivers = Slots::new(&epoch);
        assert!(!epoch.has_run_dry(&error(ErrorKind::Closed), &receivers), "the epoch is not over");
        epoch.end();
        let passing = Error::new(ErrorKind::Malformed, "one message").sparing_connection();
        assert!(!epoch.has_run_dry(&passing, &receivers), "further messages may come");
        assert!(!epoch.is_empty() && !receivers.is_closed());
        assert!(epoch.has_run_dry(&error(ErrorKind::Closed), &receivers));
        assert!(epoch.is_empty() && receivers.is_closed());
    }

    /// Returns the kind of the end behind an epoch that ended with `before`, where the last epoch, which the peer
    /// may not have used, has given this number of messages, and then an error of the kind `last`.
    fn end_after(before: ErrorKind, messages: i64, last: ErrorKind) -> ErrorKind {
        let [old, new] = [(); 2].map(Epoch::new);
        let receivers = Slots::new(&old);
        old.end();
        assert!(old.has_run_dry(&error(before), &receivers));
        new.may_be_unused(&old);
        receivers.open(&new);
        receivers.first().count(messages);
        new.end_of_connection(error(last), &receivers).kind()
    }

    #[test]
    fn a_close_before_an_epoch_that_was_not_used_is_the_end_of_the_connection() {
        use ErrorKind::{Closed, Reset};
        assert_eq!(end_after(Closed, 0, Reset), Closed);
        assert_eq!(end_after(Closed, 0, Closed), Closed);
        assert_eq!(end_after(Closed, 1, Reset), Reset, "the peer has used the epoch");
        assert_eq!(end_after(Reset, 0, Reset), Reset, "the peer has not closed");
        assert_eq!(end_after(Reset, 0, Closed), Closed);
    }

    #[test]
    fn a_reception_that_ends_with_the_link_waits_until_the_last_epoch_is_known() {
        for has_link_ended in [false, true] {
            let epochs = Arc::new(Epochs::new(&Epoch::new(()), move || has_link_ended));
            assert_eq!(epochs.awaits_last(&error(ErrorKind::Closed)), has_link_ended);
            let passing = Error::new(ErrorKind::Malformed, "one message").sparing_connection();
            assert!(!epochs.awaits_last(&passing), "further messages may come");
            drop(LastEpochUnknown(epochs.clone()));
            assert!(!epochs.awaits_last(&error(ErrorKind::Closed)), "the last epoch is known");
        }
    }
}
