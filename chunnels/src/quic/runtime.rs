//! The runtime of a connection, in the form that `quinn` requires.

use crate::task_end;
use bertha_core::{Runtime, debug_fields};
use parking_lot::Mutex;
use quinn::{AsyncTimer, AsyncUdpSocket};
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};
use std::time::Instant;

/// The tasks of a connection, which end when it is dropped.
pub(super) struct Tasks<R: Runtime>(Mutex<Vec<R::Task>>);

impl<R: Runtime> Tasks<R> {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self(Mutex::default()))
    }

    pub(super) fn spawn(&self, runtime: &R, task: impl Future<Output = ()> + Send + 'static) {
        self.spawn_watched(runtime, task, || {});
    }

    /// Spawns `task`, and calls `on_end` once it has ended for whatever reason.
    pub(super) fn spawn_watched(
        &self,
        runtime: &R,
        task: impl Future<Output = ()> + Send + 'static,
        on_end: impl FnOnce() + Send + 'static,
    ) {
        let task = task_end::spawn(runtime, task, on_end);
        self.0.lock().push(task);
    }
}

/// Time and tasks of a Bertha runtime.
pub(super) struct Adapter<R: Runtime> {
    pub(super) runtime: R,
    /// The reference is weak, since the tasks own this adapter.
    pub(super) tasks: Weak<Tasks<R>>,
}

debug_fields!(Adapter<R: Runtime> {});

impl<R: Runtime> quinn::Runtime for Adapter<R> {
    fn new_timer(&self, deadline: Instant) -> Pin<Box<dyn AsyncTimer>> {
        let runtime = self.runtime.clone();
        // The closure is boxed, so that the timer can be moved: one allocation per connection.
        let sleep_until = Box::new(move |deadline| {
            let runtime = runtime.clone();
            async move { runtime.sleep_until(deadline).await }
        });
        let sleep = sleep_until(deadline);
        Box::pin(Timer { sleep: Box::pin(sleep), wakes_at: deadline, deadline, sleep_until })
    }

    fn spawn(&self, future: Pin<Box<dyn Future<Output = ()> + Send>>) {
        if let Some(tasks) = self.tasks.upgrade() {
            tasks.spawn(&self.runtime, future);
        }
    }

    fn wrap_udp_socket(&self, _: std::net::UdpSocket) -> io::Result<Arc<dyn AsyncUdpSocket>> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn now(&self) -> Instant {
        self.runtime.now()
    }
}

/// A timer. Deadlines mostly move later: an alarm that fires early costs less than setting an alarm for each
/// packet.
struct Timer<Sleep, Make> {
    sleep: Pin<Box<Sleep>>,
    wakes_at: Instant,
    deadline: Instant,
    sleep_until: Box<Make>,
}

impl<Sleep, Make> AsyncTimer for Timer<Sleep, Make>
where
    Sleep: Future<Output = ()> + Send + 'static,
    Make: Fn(Instant) -> Sleep + Send + 'static,
{
    fn reset(self: Pin<&mut Self>, deadline: Instant) {
        let this = self.get_mut();
        this.deadline = deadline;
        if deadline < this.wakes_at {
            this.set();
        }
    }

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        loop {
            if this.sleep.as_mut().poll(context).is_pending() {
                return Poll::Pending;
            }
            let is_over = this.wakes_at >= this.deadline;
            // A completed future must not be polled again.
            this.set();
            if is_over {
                return Poll::Ready(());
            }
        }
    }
}

impl<Sleep, Make: Fn(Instant) -> Sleep> Timer<Sleep, Make> {
    fn set(&mut self) {
        let sleep = (self.sleep_until)(self.deadline);
        self.sleep.as_mut().set(sleep);
        self.wakes_at = self.deadline;
    }
}

debug_fields!(Timer < Sleep, Make > { deadline });
