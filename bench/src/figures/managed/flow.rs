//! Calls that flow while something else happens.

use super::by_daemon::{Client, call};
use crate::{Error, ErrorKind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tokio::task::JoinHandle;

/// Number of bytes of a question.
const BYTES: usize = 64;

/// Calls of tasks, each of which makes its next call when it has the answer to its previous call.
#[derive(Debug)]
pub(super) struct Flow {
    seen: Arc<Seen>,
    tasks: Vec<JoinHandle<()>>,
}

/// The calls and answers so far.
#[derive(Debug)]
struct Seen {
    is_over: AtomicBool,
    begun: AtomicU64,
    answered: AtomicU64,
    gap: Mutex<Gap>,
}

/// The longest time between two answers.
#[derive(Debug, Clone, Copy)]
struct Gap {
    last: Instant,
    longest: Duration,
}

impl Gap {
    fn answered(&mut self, at: Instant) {
        self.longest = self.longest.max(at - self.last);
        self.last = at;
    }

    /// Begins anew: the time since the last answer counts.
    fn begin(&mut self) {
        self.longest = Duration::ZERO;
    }

    /// Returns the longest time, of which the last may not have ended.
    fn end(self, at: Instant) -> Duration {
        self.longest.max(at - self.last)
    }
}

impl Flow {
    /// Starts so many tasks on the runtime of the calling task.
    pub(super) fn start(client: Client, in_flight: usize) -> Self {
        let seen = Arc::new(Seen {
            is_over: AtomicBool::new(false),
            begun: AtomicU64::new(0),
            answered: AtomicU64::new(0),
            gap: Mutex::new(Gap { last: Instant::now(), longest: Duration::ZERO }),
        });
        let client = Arc::new(client);
        let task = |_| tokio::spawn(make_calls(Arc::clone(&client), Arc::clone(&seen)));
        Self { tasks: (0..in_flight).map(task).collect(), seen }
    }

    /// Returns the number of answers so far.
    pub(super) fn answered(&self) -> u64 {
        self.seen.answered.load(Relaxed)
    }

    /// Begins the search for the longest time between two answers, of which the first may have come before.
    pub(super) fn begin_gap(&self) {
        self.seen.gap().begin();
    }

    /// Returns the longest time between two answers, the second of which came since the beginning of the search, or has not come.
    pub(super) fn longest_gap(&self) -> Duration {
        self.seen.gap().end(Instant::now())
    }

    /// Lets the calls under way end, and returns the number of calls without an answer.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if a task panics.
    pub(super) async fn end(self) -> Result<u64, Error> {
        self.seen.is_over.store(true, Relaxed);
        for task in self.tasks {
            task.await.map_err(Error::while_doing(ErrorKind::Core, "ending a task"))?;
        }
        Ok(self.seen.begun.load(Relaxed) - self.seen.answered.load(Relaxed))
    }
}

impl Seen {
    fn gap(&self) -> MutexGuard<'_, Gap> {
        self.gap.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn make_calls(client: Arc<Client>, seen: Arc<Seen>) {
    while !seen.is_over.load(Relaxed) {
        seen.begun.fetch_add(1, Relaxed);
        if !matches!(call(&client, &[7; BYTES]).await, Ok(BYTES)) {
            // The call counts as lost. Where one fails, all may fail at once, without a wait.
            return;
        }
        seen.answered.fetch_add(1, Relaxed);
        seen.gap().answered(Instant::now());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_that_begins_before_the_search_or_ends_after_it_counts() {
        let began = Instant::now();
        let at = |ms| began + Duration::from_millis(ms);
        let mut gap = Gap { last: began, longest: Duration::ZERO };
        gap.answered(at(50));
        gap.begin();
        gap.answered(at(57));
        gap.answered(at(58));
        assert_eq!(gap.end(at(60)), Duration::from_millis(7));
        assert_eq!(gap.end(at(70)), Duration::from_millis(12));
    }
}
