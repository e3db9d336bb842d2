//! The runtime of the process, and what a fork does to it.

use crate::code::Code;
use crate::failure::Failure;
use crate::forks;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use tokio::runtime::{Builder, Handle, Runtime};

/// Not started, or just being started.
const FRESH: u8 = 0;
const RUNNING: u8 = 1;
/// This process is a child of the one that has the runtime.
const FORKED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(FRESH);
/// The process that started the runtime, or zero.
static OWNER: AtomicU32 = AtomicU32::new(0);
static RUNTIME: OnceLock<Result<Runtime, String>> = OnceLock::new();

thread_local! {
    /// True once this thread has a runtime for its futures.
    static HAS_RUNTIME: Cell<bool> = const { Cell::new(false) };
}

/// Checks that this process is not a child of the one with the runtime, in which any lock may be held for ever.
///
/// # Errors
/// [`BERTHA_FORKED`](Code::BERTHA_FORKED).
#[inline]
pub(crate) fn check() -> Result<(), Failure> {
    match STATE.load(Ordering::Acquire) {
        RUNNING => Ok(()),
        FRESH => first(),
        _ => Err(forked()),
    }
}

/// Makes this process the owner, if there is none.
#[cold]
fn first() -> Result<(), Failure> {
    let this = std::process::id();
    match OWNER.compare_exchange(0, this, Ordering::AcqRel, Ordering::Acquire) {
        Err(owner) if owner != this => {
            after_fork();
            Err(forked())
        }
        _ => Ok(()),
    }
}

/// Marks this process as a child. A handler of a fork may do no more than this.
extern "C" fn after_fork() {
    STATE.store(FORKED, Ordering::Release);
}

#[cold]
fn forked() -> Failure {
    let text = "the process was forked after its first call of Bertha: the child has no threads of the library; fork before \
                the first call, or execute another program in the child";
    Failure::new(Code::BERTHA_FORKED, text)
}

/// Returns the runtime of the process, which begins with the first call.
///
/// # Errors
/// [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if the system gives no threads.
pub(crate) fn handle() -> Result<&'static Handle, Failure> {
    match RUNTIME.get_or_init(start) {
        Ok(runtime) => Ok(runtime.handle()),
        Err(reason) => Err(Failure::new(Code::BERTHA_EXHAUSTED, reason.clone())),
    }
}

/// Lets futures that this thread polls have the timers and sockets of the runtime, from now on.
///
/// # Errors
/// Errors of [`handle`].
#[inline]
pub(crate) fn enter() -> Result<(), Failure> {
    if HAS_RUNTIME.get() { Ok(()) } else { enter_first() }
}

#[cold]
fn enter_first() -> Result<(), Failure> {
    let runtime = handle()?;
    // Callbacks are in a thread of the runtime.
    if Handle::try_current().is_err() {
        // The thread leaves the runtime with its end: to do so with each call would take longer than many a call.
        std::mem::forget(runtime.enter());
    }
    HAS_RUNTIME.set(true);
    Ok(())
}

fn start() -> Result<Runtime, String> {
    forks::watch(after_fork).map_err(|error| format!("forks can't be watched: {error}"))?;
    let runtime = Builder::new_multi_thread().thread_name("bertha").enable_all().build();
    let runtime = runtime.map_err(|error| format!("the runtime did not start: {error}"))?;
    STATE.store(RUNNING, Ordering::Release);
    Ok(runtime)
}
