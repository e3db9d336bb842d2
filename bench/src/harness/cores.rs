//! The cores on which threads run.

use crate::{Error, ErrorKind};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// The cores of the two ends of a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Placement {
    /// Both ends run on a single core, each with a runtime of its own.
    OneCore,
    /// Each end runs on a core of its own.
    AcrossCores,
}

impl Placement {
    /// Returns the cores of the client and of the server.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] when this process may not use enough cores.
    pub(crate) fn cores(self) -> Result<(usize, usize), Error> {
        let usable = usable()?;
        match (self, usable.as_slice()) {
            (Self::OneCore, [only, ..]) => Ok((*only, *only)),
            (Self::AcrossCores, [server, client, ..]) => Ok((*client, *server)),
            _ => Err(Error::new(
                ErrorKind::Core,
                format!("{self:?} needs more cores than the {} this process may use", usable.len()),
            )),
        }
    }
}

/// Returns the cores that this process may use, in ascending order.
///
/// # Errors
/// [`ErrorKind::Core`] when the system refuses.
pub(crate) fn usable() -> Result<Vec<usize>, Error> {
    let allowed = sched_getaffinity(None)
        .map_err(Error::while_doing(ErrorKind::Core, "asking for the usable cores"))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect())
}

/// Keeps the calling thread, and the threads it starts later, on a single core.
///
/// # Errors
/// [`ErrorKind::Core`] when the core does not exist or this process may not use it.
pub(crate) fn pin(core: usize) -> Result<(), Error> {
    if core >= CpuSet::MAX_CPU {
        return Err(Error::new(
            ErrorKind::Core,
            format!("core {core} is beyond the {} supported", CpuSet::MAX_CPU),
        ));
    }
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only)
        .map_err(Error::while_doing(ErrorKind::Core, format!("pinning a thread to core {core}")))
}

/// Runs `work` on a new thread pinned to `core` and returns its result.
///
/// The calling thread's own placement stays as it was.
///
/// # Errors
/// [`ErrorKind::Core`] when the thread cannot be pinned or panics; otherwise the error of `work`.
pub(crate) fn run_on<T: Send>(
    core: usize,
    work: impl FnOnce() -> Result<T, Error> + Send,
) -> Result<T, Error> {
    std::thread::scope(|scope| join(scope.spawn(move || pin(core).and_then(|()| work()))))
}

/// Returns the processor time of the calling thread so far, in the kernel and outside.
pub(crate) fn thread_time() -> Duration {
    time_of(ClockId::ThreadCPUTime)
}

/// Returns the processor time of this process so far, in the kernel and outside.
pub(crate) fn process_time() -> Duration {
    time_of(ClockId::ProcessCPUTime)
}

fn time_of(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

/// Waits for a thread and makes its panic an error.
pub(super) fn join<T>(thread: std::thread::ScopedJoinHandle<'_, Result<T, Error>>) -> Result<T, Error> {
    thread.join().unwrap_or_else(|_| Err(Error::new(ErrorKind::Core, "a measuring thread panicked")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_may_use_one_core() {
        let before = usable().unwrap();
        let core = before[0];
        assert_eq!(run_on(core, usable).unwrap(), [core]);
        assert_eq!(usable().unwrap(), before, "the caller is not moved");
    }

    #[test]
    fn a_core_that_does_not_exist_is_an_error() {
        assert_eq!(run_on(CpuSet::MAX_CPU, usable).unwrap_err().kind(), ErrorKind::Core);
    }
}
