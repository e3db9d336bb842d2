//! Tokio as the runtime below a connection, for every datapath that runs on it.

mod credentials;
mod delay_queue;
pub mod descriptors;
mod resolve;
mod run;
mod socket_file;
mod timer;

use bertha_core::{Addr, Error, Name, Runtime};
pub use credentials::Credentials;
use delay_queue::DelayKey;
pub use run::{block_on, run, spawn};
pub use socket_file::SocketFile;
use std::fmt;
use std::time::{Duration, Instant};
use timer::{DistantSleep, TIMER};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

/// Shortest wait that counts as distant: the timer thread performs it in place of the runtime.
const DISTANT: Duration = Duration::from_millis(500);

/// The tokio runtime that the calling task runs on.
///
/// The type has no state: it takes the runtime from the context, as everything in tokio does, so its methods
/// have to be called from within a runtime.
///
/// The thread `bertha-timer` of the process takes care of waits of half a second and more, and of tasks that
/// begin later, so that connections which are merely watched over leave the runtime's own timers alone. These waits are up to ten
/// milliseconds late, since the thread does all that are due at once.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioRuntime;

impl TokioRuntime {
    /// Returns the runtime of the calling task, or `None` outside of tokio.
    pub fn current() -> Option<Self> {
        Handle::try_current().is_ok().then_some(Self)
    }
}

/// A task on tokio. Dropping the handle ends the task at its next suspension point.
pub struct Task(Stage);

enum Stage {
    /// The task was spawned at once.
    Begun(JoinHandle<()>),
    /// The task begins at a later time, or has begun since.
    Later(DelayKey),
}

impl Drop for Task {
    fn drop(&mut self) {
        match &self.0 {
            Stage::Begun(task) => task.abort(),
            Stage::Later(key) => TIMER.cancel(*key),
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Stage::Begun(task) => f.debug_tuple("Task").field(task).finish(),
            Stage::Later(key) => f.debug_tuple("Task").field(key).finish(),
        }
    }
}

impl Runtime for TokioRuntime {
    type Task = Task;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        let is_distant = deadline.saturating_duration_since(self.now()) >= DISTANT;
        let near = (!is_distant).then(|| tokio::time::sleep_until(deadline.into()));
        async move {
            match near {
                Some(near) => near.await,
                None => DistantSleep::new(&TIMER, deadline).await,
            }
        }
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(Stage::Begun(tokio::spawn(task)))
    }

    fn spawn_at(&self, deadline: Instant, task: impl Future<Output = ()> + Send + 'static) -> Task {
        match TIMER.begin_at(deadline, Box::pin(task)) {
            Ok(key) => Task(Stage::Later(key)),
            Err(task) => self.spawn(async move {
                tokio::time::sleep_until(deadline.into()).await;
                task.await;
            }),
        }
    }

    fn random(&self) -> u64 {
        rand::random()
    }

    /// Resolves by the system (`getaddrinfo`), on a thread of tokio for blocking calls. A call whose future
    /// was dropped goes on until the system's own time-out.
    fn resolve(&self, name: &Name) -> impl Future<Output = Result<Vec<Addr>, Error>> + Send {
        resolve::by_system(name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::oneshot;

    #[tokio::test]
    async fn dropping_a_task_ends_it() {
        let (held, dropped) = oneshot::channel::<()>();
        let task = TokioRuntime.spawn(async move {
            std::future::pending::<()>().await;
            drop(held);
        });
        drop(task);
        assert!(dropped.await.is_err());
    }

    #[tokio::test]
    async fn sleeping_reaches_the_deadline_near_or_distant() {
        for pause in [Duration::from_millis(2), DISTANT + Duration::from_millis(1)] {
            let deadline = TokioRuntime.now() + pause;
            TokioRuntime.sleep_until(deadline).await;
            assert!(TokioRuntime.now() >= deadline);
        }
        assert_ne!(TokioRuntime.random(), TokioRuntime.random());
    }

    /// Checks that distant waits work in a runtime without tokio's timers, so they can't arm them.
    #[test]
    fn distant_waits_leave_the_timers_of_the_runtime_alone() {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let (began, has_begun) = oneshot::channel();
            let _task = TokioRuntime.spawn_at(Instant::now(), async {
                TokioRuntime.sleep_until(Instant::now() + 2 * DISTANT).await;
                began.send(()).unwrap();
            });
            has_begun.await.unwrap();
        });
    }
}
