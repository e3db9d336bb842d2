//! Caladan as the runtime below a connection.

use crate::clock::{self, Event, Key};
use crate::task::Task;
use bertha_core::Runtime;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Instant;

/// Caladan's runtime. Tasks are green threads, spread over the kernel threads that its scheduler grants.
///
/// A poll of a task is not preempted, so it must not block and should be short; between polls other tasks get
/// their turn, and packets are handled. A task beyond the bound on [tasks](crate::Config::tasks) is dropped
/// at once, with a message in the log.
///
/// The type has no state, and may be used in any thread. Requests of threads outside of the runtime (spawn,
/// wake, drop) are noticed within 10 ms.
#[derive(Debug, Clone, Copy, Default)]
pub struct CaladanRuntime;

impl Runtime for CaladanRuntime {
    type Task = Task;

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        Sleep { deadline, key: None }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task::spawn(task)
    }

    fn spawn_at(&self, deadline: Instant, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task::spawn_at(deadline, task)
    }

    fn random(&self) -> u64 {
        rand::random()
    }
}

/// A future that waits for a deadline.
#[derive(Debug)]
struct Sleep {
    deadline: Instant,
    /// Key of its entry among the timers, once the future was polled.
    key: Option<Key>,
}

impl Future for Sleep {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if Instant::now() >= self.deadline {
            return Poll::Ready(());
        }
        match self.key {
            Some(key) if clock::replace_waker(key, cx.waker()) => {}
            _ => self.key = Some(clock::add(self.deadline, Event::Wake(cx.waker().clone()))),
        }
        Poll::Pending
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        if let Some(key) = self.key {
            clock::remove(key);
        }
    }
}
