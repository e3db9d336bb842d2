//! The task that completes a handshake.

use bertha_core::BoxFuture;
use parking_lot::Mutex;
use std::task::{Context, Poll};

/// The rest of a handshake, as a task that any waiting call can poll.
///
/// So the reactor wakes the waiting call directly, and not a task that wakes the call in turn. A waiting call
/// may be dropped, or not be polled any more, so after a short time a task of the runtime [takes](Self::take)
/// the rest of the handshake. A task that panics is dropped.
pub(super) struct HandshakeDriver(Mutex<Option<BoxFuture<'static, ()>>>);

impl HandshakeDriver {
    /// Makes a driver without a task.
    pub(super) const fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Sets the task.
    pub(super) fn set(&self, task: BoxFuture<'static, ()>) {
        *self.0.lock() = Some(task);
    }

    /// Polls the task, and has this call woken when there is more to do. Does nothing if another caller has
    /// taken the task, or polls it at this moment.
    pub(super) fn drive(&self, cx: &mut Context<'_>) {
        // Declared before the guard, so that a task that is done or panics is dropped after the lock is
        // released.
        let mut task;
        let Some(mut held) = self.0.try_lock() else { return };
        task = held.take();
        if let Some(Poll::Pending) = task.as_mut().map(|task| task.as_mut().poll(cx)) {
            *held = task.take();
        }
    }

    /// Takes over the task, if it is not done and has not panicked.
    pub(super) fn take(&self) -> Option<BoxFuture<'static, ()>> {
        self.0.lock().take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::{Wake, Waker};

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wake for Woken {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A task that is done when it has been woken twice, and where it can be woken.
    fn task() -> (BoxFuture<'static, ()>, Arc<Mutex<Option<Waker>>>) {
        let (waker, mut polls) = (Arc::new(Mutex::new(None)), 0);
        let shared = waker.clone();
        let task = poll_fn(move |cx: &mut Context<'_>| {
            *shared.lock() = Some(cx.waker().clone());
            polls += 1;
            if polls > 2 { Poll::Ready(()) } else { Poll::Pending }
        });
        (Box::pin(task), waker)
    }

    #[test]
    fn who_steered_last_is_woken_and_who_takes_the_task_ends_it() {
        let (driver, (first, second)) =
            (HandshakeDriver::new(), (Arc::<Woken>::default(), Arc::<Woken>::default()));
        let (task, waker) = task();
        driver.set(task);
        for (last, woken) in [(&first, [1, 0]), (&second, [1, 1])] {
            driver.drive(&mut Context::from_waker(&Waker::from(last.clone())));
            waker.lock().take().unwrap().wake();
            assert_eq!([&first, &second].map(|it| it.0.load(Ordering::Relaxed)), woken);
        }
        let mut taken = driver.take().unwrap();
        driver.drive(&mut Context::from_waker(Waker::noop()));
        assert!(waker.lock().is_none(), "it was taken");
        assert!(taken.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_ready());
    }

    #[test]
    fn a_task_that_has_panicked_is_not_polled_again() {
        let driver = HandshakeDriver::new();
        let held = Arc::new(());
        let owned = held.clone();
        driver.set(Box::pin(async move {
            let _owned = owned;
            panic!("as this test wants it")
        }));
        let drive = || driver.drive(&mut Context::from_waker(Waker::noop()));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(drive)).is_err());
        drive();
        assert!(driver.take().is_none());
        assert_eq!(Arc::strong_count(&held), 1);
    }

    #[test]
    fn a_task_that_is_done_is_dropped() {
        let (driver, (task, waker)) = (HandshakeDriver::new(), task());
        driver.set(task);
        (0..5).for_each(|_| driver.drive(&mut Context::from_waker(Waker::noop())));
        assert!(driver.take().is_none());
        assert_eq!(Arc::strong_count(&waker), 1);
    }
}
