//! The runtime below a connection, as a Chunnel uses it.

use crate::{Addr, Error, ErrorKind, Name};
use std::time::Instant;

/// Tasks, time and randomness of the runtime below a connection: tokio for sockets, virtual time in the simulator.
///
/// A Chunnel gets its runtime from [`Base::runtime`](crate::Base::runtime), and so works with every runtime.
pub trait Runtime: Clone + Send + Sync + 'static {
    /// A running task. Dropping it ends the task at its next suspension point, so that no task outlives its owner.
    type Task: Send + Sync + 'static;

    /// Returns the current time, which never goes backwards. It is virtual in the simulator, so it can be
    /// compared only with other times from the same runtime.
    fn now(&self) -> Instant;

    /// Waits until `deadline`. Cancellation-safe.
    fn sleep_until(&self, deadline: Instant) -> impl Future<Output = ()> + Send + 'static;

    /// Starts `task`, which runs until it ends or the returned handle is dropped.
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) -> Self::Task;

    /// Starts `task` at `deadline`, or at once if that has passed. If the returned handle is dropped before, the task never runs.
    ///
    /// The method is for tasks that are mostly cancelled before they begin, such as time-outs: a runtime may
    /// keep such a task at almost no cost until it begins. The default spawns a task that sleeps first.
    fn spawn_at(&self, deadline: Instant, task: impl Future<Output = ()> + Send + 'static) -> Self::Task {
        let until = self.sleep_until(deadline);
        self.spawn(async move {
            until.await;
            task.await;
        })
    }

    /// Returns random bits that a peer can't predict; the simulator derives them from its seed.
    fn random(&self) -> u64;

    /// Returns the addresses of a name, in order of preference, as the machine resolves names. The default
    /// refuses, since it has no way to resolve. The resolution may go on for a while after the future is
    /// dropped.
    ///
    /// # Errors
    /// The errors of [`Resolver::resolve`](crate::Resolver::resolve); [`Unavailable`](ErrorKind::Unavailable)
    /// without a way to resolve.
    fn resolve(&self, name: &Name) -> impl Future<Output = Result<Vec<Addr>, Error>> + Send {
        let what =
            format!("this runtime resolves no names; name a resolver to reach `{name}`, or its address");
        std::future::ready(Err(Error::new(ErrorKind::Unavailable, what)))
    }
}
