//! Places for tasks, whose number is bounded, since each task has a stack.

use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Number of live tasks, and upper bound on live tasks.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The place of a task, which is given back when the task ends.
#[derive(Debug)]
pub(crate) struct Place(());

impl Place {
    /// Takes a place. Returns `None`, with an error in the log, if no place is left.
    pub(crate) fn take() -> Option<Self> {
        let limit = LIMIT.load(Ordering::Relaxed);
        if TAKEN.fetch_add(1, Ordering::Relaxed) < limit {
            return Some(Self(()));
        }
        TAKEN.fetch_sub(1, Ordering::Relaxed);
        tracing::error!(
            limit,
            "a task was dropped: there are as many as `tasks` (BERTHA_CALADAN_TASKS) allows"
        );
        None
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Sets the upper bound on live tasks.
pub(crate) fn set_limit(tasks: usize) {
    LIMIT.store(tasks, Ordering::Relaxed);
}

/// Returns the number of live tasks.
pub(crate) fn taken() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

/// Returns true if there is room for another connection: some places are left for the tasks of existing
/// connections.
pub(crate) fn has_room() -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    taken() < limit - limit / 8
}

/// Returns the error for a connection without room.
#[cold]
pub(crate) fn no_room() -> Error {
    let limit = LIMIT.load(Ordering::Relaxed);
    let what = format!(
        "{} tasks of at most {limit} run, so there is no room for another connection; `tasks` (BERTHA_CALADAN_TASKS) sets how many",
        taken()
    );
    failure(ErrorKind::Exhausted, what)
}
