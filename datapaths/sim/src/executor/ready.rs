//! The choice of the task that runs next.

use super::TaskId;
use crate::rng::Rng;
use std::collections::VecDeque;

/// The order in which ready tasks run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Schedule {
    /// Any ready task may be next, as drawn from the seed. This order finds races that the order of wake-ups
    /// hides.
    #[default]
    Random,
    /// The first woken task runs first, as in most executors.
    Fifo,
}

/// The tasks that are ready to run.
#[derive(Debug)]
pub(crate) struct Ready {
    pub(crate) schedule: Schedule,
    rng: Rng,
    tasks: VecDeque<TaskId>,
}

impl Ready {
    pub(super) fn new(rng: Rng) -> Self {
        Self { schedule: Schedule::default(), rng, tasks: VecDeque::new() }
    }

    pub(super) fn add(&mut self, task: TaskId) {
        self.tasks.push_back(task);
    }

    pub(super) fn take(&mut self) -> Option<TaskId> {
        match self.schedule {
            Schedule::Fifo => self.tasks.pop_front(),
            Schedule::Random => self.tasks.swap_remove_back(self.rng.below(self.tasks.len())),
        }
    }

    pub(super) fn clear(&mut self) {
        self.tasks.clear();
    }
}
