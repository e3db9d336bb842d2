//! The number of tasks is bounded, since each has a stack.

use crate::failure::failure;
use bertha_core::{Error, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The tasks that there are, and those that there may be.
static TAKEN: AtomicUsize = AtomicUsize::new(0);
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);

/// The place of one task, which it gives back when it ends.
#[derive(Debug)]
pub(crate) struct Place(());

impl Place {
    /// `None`, said loudly, if there is none left.
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

/// Sets how many there are.
pub(crate) fn set_limit(tasks: usize) {
    LIMIT.store(tasks, Ordering::Relaxed);
}

/// How many tasks there are.
pub(crate) fn taken() -> usize {
    TAKEN.load(Ordering::Relaxed)
}

/// Whether there is room for another connection: some places are left for the tasks of those that there are.
pub(crate) fn has_room() -> bool {
    let limit = LIMIT.load(Ordering::Relaxed);
    taken() < limit - limit / 8
}

/// The error for a connection without room.
#[cold]
pub(crate) fn no_room() -> Error {
    let limit = LIMIT.load(Ordering::Relaxed);
    let what = format!(
        "{} tasks of at most {limit} run, so there is no room for another connection; `tasks` (BERTHA_CALADAN_TASKS) sets how many",
        taken()
    );
    failure(ErrorKind::Exhausted, what)
}
