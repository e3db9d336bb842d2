//! Futures on green threads, a thread for each future.

use crate::bindings::{self, Parker, Work, inbox, isolated};
use crate::clock::{self, Event, Key};
use crate::places::Place;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Instant;

type BoxFuture = Pin<Box<dyn Future<Output = ()> + Send>>;

/// A task of the runtime. Dropping it ends the task at its next suspension point.
pub struct Task {
    shared: Arc<TaskShared>,
    /// Key of the timer, for a task that begins later.
    later: Option<Key>,
}

/// Starts a task that runs until it ends.
pub fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    Running::new(Box::pin(task)).begin();
}

/// The part of a task that its handle and its wakers share.
struct TaskShared {
    parker: Parker,
    aborted: AtomicBool,
}

impl Task {
    /// Starts a task.
    pub(crate) fn spawn(future: impl Future<Output = ()> + Send + 'static) -> Self {
        let running = Running::new(Box::pin(future));
        let shared = running.shared.clone();
        running.begin();
        Self { shared, later: None }
    }

    /// Starts a task at the deadline. Until then the task has no thread.
    pub(crate) fn spawn_at(deadline: Instant, future: impl Future<Output = ()> + Send + 'static) -> Self {
        let running = Running::new(Box::pin(future));
        let shared = running.shared.clone();
        let later = clock::add(deadline, Event::Call(Box::new(|| running.begin())));
        Self { shared, later: Some(later) }
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        // Release pairs with the acquire of the poll that finds the flag.
        self.shared.aborted.store(true, Ordering::Release);
        if let Some(key) = self.later {
            clock::remove(key);
        }
        self.shared.wake_by_ref();
    }
}

bertha_core::debug_fields!(Task {});

impl Wake for TaskShared {
    fn wake(self: Arc<Self>) {
        self.wake_by_ref();
    }

    fn wake_by_ref(self: &Arc<Self>) {
        if let Some(parked) = self.parker.wake() {
            inbox::on_caladan(|| parked.resume());
        }
    }
}

/// A task with its future.
pub(crate) struct Running {
    shared: Arc<TaskShared>,
    waker: Waker,
    /// The future; `None` once it has ended, since its drop may panic as well.
    future: Option<BoxFuture>,
    /// The place of a task that has begun.
    place: Option<Place>,
}

impl Running {
    fn new(future: BoxFuture) -> Box<Self> {
        let shared = Arc::new(TaskShared { parker: Parker::new(), aborted: AtomicBool::new(false) });
        let waker = Waker::from(shared.clone());
        Box::new(Self { shared, waker, future: Some(future), place: None })
    }

    /// Gives the task a thread. If there are too many tasks, drops it with an error in the log.
    pub(crate) fn begin(mut self: Box<Self>) {
        let Some(place) = Place::take() else { return };
        self.place = Some(place);
        inbox::on_caladan(move || {
            if let Err(error) = bindings::spawn(self) {
                tracing::error!(%error, "a task was dropped: there is no memory for another green thread");
            }
        });
    }

    /// Polls the task. Returns true if it has ended: by itself, by a panic, or by being aborted.
    fn poll(&mut self) -> bool {
        let Some(future) = &mut self.future else { return true };
        let ended = self.shared.aborted.load(Ordering::Acquire) || {
            let mut cx = Context::from_waker(&self.waker);
            let polled = catch_unwind(AssertUnwindSafe(|| future.as_mut().poll(&mut cx)));
            // The panic hook has reported a panic.
            !matches!(polled, Ok(Poll::Pending))
        };
        if ended {
            let future = self.future.take();
            let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
        }
        ended
    }
}

impl Work for Running {
    fn run(mut self: Box<Self>) {
        while !isolated(|| self.poll()) {
            self.shared.parker.park();
        }
        isolated(|| drop(self));
    }
}
