//! Attaching again, when the daemon has ended.

use super::entry::{Entry, NotAttached};
use super::link::Link;
use bertha_runtime::tokio::{Task, TokioRuntime};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::{Mutex, oneshot};
use tokio::time::{Instant, sleep};

/// The pause after the first attempt. Each further one is twice as long..
const SHORTEST: Duration = Duration::from_millis(20);

/// .. up to this one. It is also the time for which an attachment lasts at least that did not end at once.
const LONGEST: Duration = Duration::from_millis(250);

/// The reason why calls fail while no daemon is there.
pub(super) const GONE: &str = "the daemon has gone; the application attaches again when there is one";

/// The way back to the daemon of an application that was attached.
#[derive(Debug)]
pub(super) struct Again {
    entry: Entry,
    pauses: Pauses,
    /// The time of the last attachment.
    since: Instant,
}

impl Again {
    /// Makes the way back of an application that has just been attached.
    pub(super) fn new(entry: Entry) -> Self {
        Self { entry, pauses: Pauses::default(), since: Instant::now() }
    }

    /// Attaches, as soon as there is a daemon that takes the application. `because` hears why it is not attached, whenever the reason changes.
    pub(super) async fn attach(&mut self, mut because: impl FnMut(&str)) -> Arc<Link> {
        if self.since.elapsed() >= LONGEST {
            self.pauses = Pauses::default();
        }
        let (service, role) = (&self.entry.service, self.entry.role);
        let (mut refused, mut is_refused) = (None, false);
        loop {
            sleep(self.pauses.next()).await;
            match self.entry.now().await {
                Ok(link) => {
                    tracing::info!(service, ?role, "the application is attached again");
                    self.since = Instant::now();
                    return link;
                }
                Err(NotAttached::Absent) if is_refused => {
                    because(GONE);
                    is_refused = false;
                }
                Err(NotAttached::Absent) => {}
                Err(NotAttached::Refused(error)) => {
                    let reason = format!("the application is not attached again: {error}");
                    if refused.as_ref() != Some(&reason) {
                        tracing::warn!(service, ?role, %error, "the application is not attached again");
                    }
                    because(&reason);
                    (refused, is_refused) = (Some(reason), true);
                    self.pauses.slow();
                }
            }
        }
    }
}

/// An attachment that a task is after.
#[derive(Debug)]
pub(super) struct Returning {
    /// Fails if the runtime of the task ends.
    pub(super) link: oneshot::Receiver<Arc<Link>>,
    _task: Task,
}

impl Returning {
    /// Begins, so that no waiting future has to be polled for it, and each may be dropped.
    pub(super) fn begin(again: Arc<Mutex<Again>>) -> Self {
        let (sender, link) = oneshot::channel();
        let task = bertha_core::Runtime::spawn(&TokioRuntime, async move {
            // A server that has gone meanwhile drops the attachment.
            let _heard = sender.send(again.lock().await.attach(|_| {}).await);
        });
        Self { link, _task: task }
    }
}

/// The pauses before attempts: none before the first.
#[derive(Debug, Default)]
struct Pauses {
    next: Duration,
}

impl Pauses {
    fn next(&mut self) -> Duration {
        let next = self.next;
        self.next = (2 * next).clamp(SHORTEST, LONGEST);
        next
    }

    /// Makes the next pause the longest: a refusal does not pass by itself.
    fn slow(&mut self) {
        self.next = LONGEST;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_attempt_comes_at_once_and_pauses_grow_to_a_bound() {
        let mut pauses = Pauses::default();
        let mut next = || pauses.next().as_millis();
        assert_eq!([next(), next(), next(), next(), next(), next(), next()], [0, 20, 40, 80, 160, 250, 250]);
        let mut pauses = Pauses::default();
        pauses.slow();
        assert_eq!([pauses.next(), pauses.next()], [LONGEST; 2]);
    }

    /// Whenever a daemon returns, an attempt comes within a second: the test tries each millisecond of three seconds, also with refusals before.
    #[test]
    fn a_daemon_that_returns_is_tried_within_a_second() {
        let second = Duration::from_secs(1);
        for refusals in 0..5 {
            let (mut pauses, mut attempts, mut at) = (Pauses::default(), Vec::new(), Duration::ZERO);
            while at < 5 * second {
                at += pauses.next();
                attempts.push(at);
                if attempts.len() <= refusals {
                    pauses.slow();
                }
            }
            for millis in 0..3_000 {
                let returned = Duration::from_millis(millis);
                let next = attempts.iter().find(|attempt| **attempt >= returned).unwrap();
                assert!(*next < returned + second, "{returned:?}, {refusals} refusals: {attempts:?}");
            }
        }
    }
}
