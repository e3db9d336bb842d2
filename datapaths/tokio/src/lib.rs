//! Tokio as the runtime below a connection, for every datapath that runs on it.

mod agenda;

use agenda::{Agenda, Place};
use bertha_core::Runtime;
use std::fmt;
use std::sync::Arc;
use std::time::Instant;
use tokio::task::JoinHandle;

/// The tokio runtime that the calling task runs on.
///
/// Has no state of its own: it finds the runtime in the context, as everything in tokio does, so its methods have to
/// be called from within one.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioRuntime;

/// A task on tokio. Dropping it ends the task at its next suspension point.
pub struct Task(Stage);

enum Stage {
    /// It was spawned as such.
    Begun(JoinHandle<()>),
    /// It is, or was, to begin later.
    Later(Arc<Agenda>, Place),
}

impl Drop for Task {
    fn drop(&mut self) {
        match &self.0 {
            Stage::Begun(task) => task.abort(),
            Stage::Later(agenda, place) => agenda.strike_out(*place),
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Stage::Begun(task) => f.debug_tuple("Task").field(task).finish(),
            Stage::Later(_, place) => f.debug_tuple("Task").field(place).finish(),
        }
    }
}

impl Runtime for TokioRuntime {
    type Task = Task;

    fn now(&self) -> Instant {
        tokio::time::Instant::now().into_std()
    }

    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static {
        tokio::time::sleep_until(deadline.into())
    }

    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Task {
        Task(Stage::Begun(tokio::spawn(task)))
    }

    fn spawn_at(&self, deadline: Instant, task: impl Future<Output = ()> + Send + 'static) -> Task {
        let agenda = Agenda::current();
        let place = agenda.add(deadline, Box::pin(task));
        Task(Stage::Later(agenda, place))
    }

    fn random(&self) -> u64 {
        rand::random()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
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
    async fn sleeping_reaches_the_deadline() {
        let deadline = TokioRuntime.now() + Duration::from_millis(2);
        TokioRuntime.sleep_until(deadline).await;
        assert!(TokioRuntime.now() >= deadline);
        assert_ne!(TokioRuntime.random(), TokioRuntime.random());
    }
}
