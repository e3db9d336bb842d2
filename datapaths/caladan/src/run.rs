//! Execution of a program over Caladan.

use crate::bindings::{self, Scheduler, set_log_level, set_window};
use crate::clock::Clock;
use crate::failure::{NAME, failure};
use crate::tcp::WINDOW;
use crate::{CaladanRuntime, Config, places};
use bertha_core::{Error, ErrorKind, Runtime};
use parking_lot::Mutex;
use rustix::fs::MemfdFlags;
use std::ffi::CString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsRawFd;
use std::panic::resume_unwind;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

/// Interval between checks that the scheduler is there.
const LOOK: Duration = Duration::from_secs(1);

/// The runtime of this process, once a call has tried to start it.
static RUNTIME: Mutex<Option<Started>> = Mutex::new(None);

struct Started {
    config: Config,
    /// Kind and text of the error, if the start failed.
    outcome: Result<(), (ErrorKind, String)>,
    scheduler: Option<Scheduler>,
}

/// Runs `main` as a task of Caladan's runtime, and returns its output. The first call starts the runtime,
/// which lives as long as the process and cannot be started again; it has threads of its own, while the
/// calling thread waits. If `main` panics, so does this call.
///
/// # Errors
/// [`Unavailable`](ErrorKind::Unavailable) if this build has no Caladan, if its scheduler or its kernel
/// module is missing, or when the scheduler ends: then all tasks stand still forever, and the program can
/// only end too. [`Invalid`](ErrorKind::Invalid) if a setting makes no sense, if the runtime was started with
/// other settings, or if the caller is a task of the runtime, which would block.
pub fn run<F>(config: &Config, main: F) -> Result<F::Output, Error>
where
    F: Future<Output: Send + 'static> + Send + 'static,
{
    if bindings::on_caladan() {
        return Err(failure(
            ErrorKind::Invalid,
            "`run` was called in a task of the runtime, which it would block",
        ));
    }
    start(config)?;
    let (finished, output) = sync_channel(1);
    let _task = CaladanRuntime.spawn(async move {
        // The channel has room for one value, and the waiting thread does not go away.
        let _ = finished.send(main.await);
    });
    loop {
        match output.recv_timeout(LOOK) {
            Ok(output) => return Ok(output),
            // The panic hook has reported the panic.
            Err(RecvTimeoutError::Disconnected) => resume_unwind(Box::new("the main task panicked")),
            Err(RecvTimeoutError::Timeout) if scheduler_is_gone() => {
                let what = "Caladan's scheduler has ended, and nothing runs without it";
                return Err(failure(ErrorKind::Unavailable, what));
            }
            Err(RecvTimeoutError::Timeout) => {}
        }
    }
}

fn scheduler_is_gone() -> bool {
    let runtime = RUNTIME.lock();
    let scheduler = runtime.as_ref().and_then(|started| started.scheduler.as_ref());
    scheduler.is_some_and(Scheduler::is_gone)
}

/// Starts the runtime, unless it runs.
pub(crate) fn start(config: &Config) -> Result<(), Error> {
    let mut runtime = RUNTIME.lock();
    let started = match &mut *runtime {
        Some(started) if started.config != *config => {
            let what = "the runtime of this process has started with other settings";
            return Err(failure(ErrorKind::Invalid, what));
        }
        Some(started) => started,
        none => {
            let outcome = launch(config).map_err(|error| (error.kind(), error.context().to_owned()));
            let scheduler = if outcome.is_ok() { Scheduler::find() } else { None };
            none.insert(Started { config: config.clone(), outcome, scheduler })
        }
    };
    started.outcome.clone().map_err(|(kind, what)| Error::new(kind, what).at(NAME))
}

fn launch(config: &Config) -> Result<(), Error> {
    if !bertha_caladan_sys::AVAILABLE {
        let what = "this program was built without Caladan: build it with CALADAN_DIR set, as `scripts/caladan` says";
        return Err(failure(ErrorKind::Unavailable, what));
    }
    let text = config.for_caladan()?;
    set_log_level(config.log_level);
    set_window(WINDOW);
    places::set_limit(config.tasks);
    let file = in_memory(&text).map_err(|error| not_started(&error))?;
    let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))
        .map_err(|error| not_started(&error.into()))?;
    let (started, outcome) = sync_channel(2);
    // The first kernel thread never ends, and never drops what it owns.
    let first = move || {
        let error = bindings::start(&path, Box::new(Clock::new(started.clone())));
        drop(file);
        let _ = started.send(Err(error));
    };
    thread::Builder::new().name("caladan".into()).spawn(first).map_err(|error| not_started(&error))?;
    let ended = || io::Error::other("its first thread has ended");
    outcome.recv().unwrap_or_else(|_| Err(ended())).map_err(|error| not_started(&error))
}

/// Writes Caladan's configuration, which it reads from a file, to a file in memory.
fn in_memory(text: &str) -> io::Result<File> {
    let mut file = File::from(rustix::fs::memfd_create("caladan.config", MemfdFlags::CLOEXEC)?);
    file.write_all(text.as_bytes())?;
    Ok(file)
}

#[cold]
fn not_started(error: &io::Error) -> Error {
    // This is Caladan's most frequent result, which is no errno.
    let says =
        if error.raw_os_error() == Some(1) { "Caladan gives no reason".into() } else { error.to_string() };
    let what = format!(
        "the runtime does not start: {says}; it needs Caladan's scheduler, iokerneld, and /dev/ksched (`scripts/caladan run` gives a program both), \
         and settings that they take: set `log_level` (BERTHA_CALADAN_LOG_LEVEL) to 5 to see what Caladan says"
    );
    failure(ErrorKind::Unavailable, what)
}
