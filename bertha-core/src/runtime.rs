//! What a Chunnel may ask of the runtime that its connection runs on.

use std::time::Instant;

/// Tasks, time and randomness of the runtime below a connection: tokio for sockets, virtual time in the simulator.
///
/// A Chunnel gets it from [`Base::runtime`](crate::Base::runtime) and so needs no runtime of its own choice.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// A running task. Dropping it ends the task at its next suspension point, so that no task outlives its owner.
    type Task: Send + Sync + 'static;

    /// The current time, which never goes backwards. Virtual in the simulator: use it only to compare with others
    /// from the same runtime.
    fn now(&self) -> Instant;

    /// Waits until `deadline`. Cancellation-safe.
    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static;

    /// Starts `task`, which runs until it ends or the returned handle is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Task;

    /// Starts `task` at `deadline`, or at once if that is over. If the returned handle is dropped before, it never runs.
    ///
    /// For what is mostly given up before its time: a runtime may keep such a task for next to nothing until it begins. Unless it
    /// does, this is a task that sleeps first.
    fn spawn_at(&self, deadline: Instant, task: impl Future<Output = ()> + Send + 'static) -> Self::Task {
        let until = self.sleep_until(deadline);
        self.spawn(async move {
            until.await;
            task.await;
        })
    }

    /// Random bits that a peer can't predict; reproducible from the seed in the simulator.
    fn random(&self) -> u64;
}
