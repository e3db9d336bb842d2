//! Tokio as the runtime below a connection, for every datapath that runs on it.

use bertha_core::Runtime;
use std::time::Instant;
use tokio::task::JoinHandle;

/// The tokio runtime that the calling task runs on.
///
/// Has no state of its own: it finds the runtime in the context, as everything in tokio does, so its methods have to
/// be called from within one.
#[derive(Debug, Clone, Copy, Default)]
pub struct TokioRuntime;

/// A task on tokio. Dropping it ends the task at its next suspension point.
#[derive(Debug)]
pub struct Task(JoinHandle<()>);

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
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
        Task(tokio::spawn(task))
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
