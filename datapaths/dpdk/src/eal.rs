//! The environment of DPDK (EAL), a single environment for each process.

use crate::failure::{check, failure};
use bertha_core::{Error, ErrorKind};
use bertha_dpdk_sys as sys;
use std::cell::Cell;
use std::ffi::{CStr, CString, c_char, c_int};
use std::sync::OnceLock;

/// Proof that the environment is initialised.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Eal(());

/// The parts of an error, which each later attempt returns.
struct Failed {
    kind: ErrorKind,
    context: String,
}

/// Outcome of the only initialisation, with its arguments.
static OUTCOME: OnceLock<Result<Vec<String>, Failed>> = OnceLock::new();

/// Initialises the environment with these arguments. They have no effect if it was initialised before.
pub(crate) fn init(arguments: &[String]) -> Result<Eal, Error> {
    if !sys::AVAILABLE {
        let what = "this program was built where DPDK is not installed; install it (`scripts/dpdk install`, or \
                    `apt-get install libdpdk-dev dpdk-dev pkg-config`) and build again";
        return Err(failure(ErrorKind::Unavailable, what));
    }
    let outcome = OUTCOME.get_or_init(|| {
        let arguments = arguments.to_vec();
        // The initialisation has a thread of its own: DPDK sets the calling thread's processor affinity and
        // makes it the main thread of DPDK.
        let attempt = std::thread::Builder::new().name("dpdk-init".into()).spawn(move || attempt(arguments));
        match attempt.map(std::thread::JoinHandle::join) {
            Ok(Ok(outcome)) => {
                outcome.map_err(|error| Failed { kind: error.kind(), context: error.context().to_owned() })
            }
            Ok(Err(_)) => {
                Err(Failed { kind: ErrorKind::Io, context: "the initialisation of DPDK panicked".into() })
            }
            Err(error) => {
                let context = format!("no thread to initialise DPDK on: {error}");
                Err(Failed { kind: ErrorKind::Exhausted, context })
            }
        }
    });
    match outcome {
        Ok(used) => {
            if used != arguments {
                tracing::debug!(?used, asked = ?arguments, "DPDK is initialised once per process");
            }
            Ok(Eal(()))
        }
        Err(Failed { kind, context }) => Err(failure(*kind, context.clone())),
    }
}

fn attempt(arguments: Vec<String>) -> Result<Vec<String>, Error> {
    let mut argv: Vec<*mut c_char> = Vec::new();
    for argument in ["bertha"].into_iter().chain(arguments.iter().map(String::as_str)) {
        let argument = CString::new(argument).map_err(|_| {
            failure(ErrorKind::Invalid, format!("the argument {argument:?} contains a zero byte"))
        })?;
        // The argument is never freed: DPDK keeps pointers to its arguments.
        argv.push(argument.into_raw());
    }
    let argc = argv.len() as c_int;
    argv.push(std::ptr::null_mut());
    let argv = Vec::leak(argv);
    // SAFETY: `argv` has `argc` strings and a null behind them; all of them are leaked, so they live forever
    // and nothing else refers to them. The function is called once in the process: `OUTCOME` is written once.
    check(unsafe { sys::bertha_dpdk_eal_init(argc, argv.as_mut_ptr()) }, "initialising DPDK")?;
    // SAFETY: the function has no precondition.
    let version = unsafe { sys::bertha_dpdk_version() };
    // SAFETY: the version is a constant string with a zero byte at its end.
    let version = unsafe { CStr::from_ptr(version) };
    tracing::info!(version = %version.to_string_lossy(), ?arguments, "DPDK is ready");
    Ok(arguments)
}

/// The registration of a thread, which gives it caches of all pools. They are freed when the thread ends.
struct Registration {
    /// True if the thread has tried to register.
    tried: Cell<bool>,
}

thread_local! {
    static REGISTRATION: Registration = const { Registration { tried: Cell::new(false) } };
}

/// Gives the calling thread its own caches of the pools; without caches each buffer comes from a ring that
/// all threads share.
#[inline]
pub(crate) fn enter_thread() {
    // A thread that is ending does without caches.
    let _ = REGISTRATION.try_with(|registration| {
        if !registration.tried.get() {
            registration.register();
        }
    });
}

impl Registration {
    #[cold]
    fn register(&self) {
        // A single attempt is enough: if there are too many threads, this thread does without caches.
        self.tried.set(true);
        // SAFETY: any thread may register; before the environment is initialised, DPDK refuses and does nothing else.
        let code = unsafe { sys::bertha_dpdk_thread_register() };
        if code < 0 {
            tracing::debug!(code, "no caches for this thread; buffers come from the shared ring");
        }
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        if self.tried.get() {
            // SAFETY: this thread has registered (the value is thread-local); DPDK ignores threads that are
            // not registered.
            unsafe { sys::bertha_dpdk_thread_unregister() };
        }
    }
}
