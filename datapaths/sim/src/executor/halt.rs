//! The reasons why a run ended without a result.

use std::fmt;
use std::time::Duration;

/// A run that can't come to its end. Its text names the seed that repeats the run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Halt {
    pub(super) reason: HaltReason,
    pub(super) seed: u64,
    pub(super) time: Duration,
    pub(super) steps: u64,
    pub(super) tasks: usize,
}

/// The reason why a run did not reach its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum HaltReason {
    /// No task is ready and nothing is scheduled, while the main future is pending.
    Deadlock,
    /// The next event lies after the bound on virtual time.
    TimeLimit,
    /// Tasks ran more often than the bound on steps allows. The usual cause is two tasks that wake each other
    /// forever.
    StepLimit,
}

impl Halt {
    /// Returns the reason why the run did not reach its end.
    pub fn reason(&self) -> HaltReason {
        self.reason
    }

    /// Returns the seed that repeats the run.
    pub fn seed(&self) -> u64 {
        self.seed
    }
}

impl fmt::Display for Halt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.reason {
            HaltReason::Deadlock => "deadlock: no task is ready and nothing is scheduled",
            HaltReason::TimeLimit => "virtual time is used up",
            HaltReason::StepLimit => "steps are used up",
        };
        let Self { seed, time, steps, tasks, .. } = self;
        write!(
            f,
            "simulation with seed {seed} halted after {steps} steps at {time:?}: {what}; the main future and \
             {tasks} tasks are pending"
        )
    }
}

impl std::error::Error for Halt {}
