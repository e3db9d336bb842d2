//! The runtime that this build's datapath calls for.

use crate::{Error, Runtime};
use std::time::Duration;

/// The runtime.
#[cfg(feature = "datapath-caladan")]
const RUNTIME: bertha_datapath_caladan::CaladanRuntime = bertha_datapath_caladan::CaladanRuntime;
#[cfg(not(feature = "datapath-caladan"))]
const RUNTIME: bertha_runtime::tokio::TokioRuntime = bertha_runtime::tokio::TokioRuntime;

#[cfg(all(
    feature = "datapath-caladan",
    any(
        feature = "redis",
        feature = "etcd",
        feature = "nats",
        feature = "kafka",
        feature = "redis-streams",
        feature = "sqs",
        feature = "azure-queue",
        feature = "google-pubsub"
    )
))]
compile_error!(
    "the stores `redis` and `etcd` and all messaging services talk to their servers over tokio, and `datapath-caladan` puts another runtime \
     in its place: take `datapath-caladan-bridged`, which leaves tokio there, or switch either it or them off"
);

/// Runs `main` on the runtime that [`datapath()`](crate::datapath()) requires, and returns its output:
/// Caladan with the feature `datapath-caladan`, else tokio with several threads. Caladan reads its settings
/// from the environment.
///
/// [`#[bertha::main]`](macro@crate::main) is the short form. A program that uses tokio alone may start it by
/// itself as well.
///
/// # Errors
/// [`Unavailable`](crate::ErrorKind::Unavailable) if this build or this machine does not have the runtime,
/// [`Invalid`](crate::ErrorKind::Invalid) if one of its settings makes no sense.
pub fn run<F>(main: F) -> Result<F::Output, Error>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[cfg(feature = "datapath-caladan")]
    return bertha_datapath_caladan::Caladan::run(main);
    #[cfg(not(feature = "datapath-caladan"))]
    bertha_runtime::tokio::run(main)
}

/// Runs `main` as [`run`](crate::run()) does, but on tokio with the calling thread alone: for programs that
/// give each of their threads a part of the work. Caladan has one runtime for the whole process, which
/// spreads tasks over its own threads; with Caladan the two functions are equal.
///
/// # Errors
/// The errors of [`run`](crate::run()).
pub fn block_on<F>(main: F) -> Result<F::Output, Error>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    #[cfg(feature = "datapath-caladan")]
    return bertha_datapath_caladan::Caladan::run(main);
    #[cfg(not(feature = "datapath-caladan"))]
    bertha_runtime::tokio::block_on(main)
}

/// Waits on the runtime of this build for at least `duration`. Cancellation-safe. Code that has a connection
/// uses the connection's [`Runtime`](crate::Runtime).
pub async fn sleep(duration: Duration) {
    RUNTIME.sleep_until(RUNTIME.now() + duration).await;
}

/// Starts a task on the runtime of this build, from within it. The task runs until it ends. Chunnels, and
/// other code whose tasks end with a connection, use the [`Runtime`](crate::Runtime) of their connection.
pub fn spawn<T>(task: impl Future<Output = T> + Send + 'static) {
    let task = async move { drop(task.await) };
    #[cfg(feature = "datapath-caladan")]
    bertha_datapath_caladan::spawn(task);
    #[cfg(not(feature = "datapath-caladan"))]
    bertha_runtime::tokio::spawn(task);
}

/// Prints the reason why the runtime did not start, and ends the program. It is for `#[bertha::main]`.
#[doc(hidden)]
#[allow(clippy::print_stderr, reason = "the program has no other way to say it")]
pub fn not_started(error: &Error) -> ! {
    eprintln!("Error: {error:?}");
    std::process::exit(1)
}
