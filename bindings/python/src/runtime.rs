//! The runtime of the process, and its end: by a fork, and by the exit of the interpreter.

use crate::failure::{Failure, Kind};
use bertha::ErrorKind;
use pyo3::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::{self, ThreadId};
use tokio::runtime::{Builder, Handle, Runtime};

static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();
/// True in a child of the process that has the runtime.
static IS_FORKED: AtomicBool = AtomicBool::new(false);
/// The thread in which the interpreter ends.
static EXITING: OnceLock<ThreadId> = OnceLock::new();

/// Returns the runtime of the process, which begins with the first call.
///
/// # Errors
/// `Forked`; `Exhausted` if the system gives no threads.
#[inline]
pub(crate) fn handle() -> Result<&'static Handle, Failure> {
    if is_forked() {
        return Err(forked());
    }
    match RUNTIME.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle()),
        Err(reason) => Err(Failure::new(ErrorKind::Exhausted, reason.clone())),
    }
}

fn start() -> Result<Runtime, String> {
    let runtime = Builder::new_multi_thread().thread_name("bertha").enable_all().build();
    runtime.map_err(|error| format!("the runtime did not start: {error}"))
}

/// Runs a task of the process. Without a runtime, the task is dropped.
pub(crate) fn spawn(task: impl Future<Output = ()> + Send + 'static) {
    if let Ok(handle) = handle() {
        handle.spawn(task);
    }
}

/// Notes that this process is a child, which has none of the runtime's threads.
#[pyfunction]
pub(crate) fn after_fork() {
    if RUNTIME.get().is_some() {
        IS_FORKED.store(true, Ordering::Release);
    }
}

/// Returns true in a child of the process that has the runtime: locks may be held there for ever, and descriptors are the parent's.
#[inline]
pub(crate) fn is_forked() -> bool {
    IS_FORKED.load(Ordering::Acquire)
}

#[cold]
fn forked() -> Failure {
    let text = "the process was forked after its first call of Bertha: the child has no threads of the library; fork before the \
                first call, or start the child anew, as multiprocessing's `spawn` does";
    Failure::new(Kind::Forked, text)
}

/// Notes that the interpreter ends: threads that wait never come back, since they can't have the interpreter any more.
#[pyfunction]
pub(crate) fn exiting() {
    EXITING.get_or_init(|| thread::current().id());
}

/// Keeps this thread for ever if the interpreter ends in another.
pub(crate) fn stay_if_exiting() {
    while EXITING.get().is_some_and(|exiting| *exiting != thread::current().id()) {
        thread::park();
    }
}

/// Keeps a value for ever in a child of the process that has the runtime: its locks and descriptors are the parent's.
pub(crate) fn keep_if_forked<T: ?Sized>(value: &Arc<T>) {
    if is_forked() {
        std::mem::forget(value.clone());
    }
}
