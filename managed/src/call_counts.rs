//! The counts of calls by callers, services, methods, peers and statuses.

use crate::Kind;
use bertha_chunnels::metrics::{Histogram, Latency};
use bertha_chunnels::rpc::FailureKind;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// Number of methods of callers, at different peers, that are counted apart. Callers choose their names, and could otherwise fill the memory.
const MOST: usize = 4_096;

/// The caller under which further methods are counted together.
const OTHERS: &str = "(others)";

/// The counts of calls. Those of a caller stay when it has gone.
#[derive(Debug, Default)]
pub struct CallCounts(Mutex<BTreeMap<Series, Arc<Counts>>>);

/// A method that a caller calls, and the peer that answers.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    caller: Arc<str>,
    service: Arc<str>,
    method: String,
    peer: Arc<str>,
}

/// The counts of a method that a caller calls.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    by_status: [AtomicU64; Status::ALL.len()],
    times: Histogram,
}

/// The outcome of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// There is a response.
    Done,
    /// The caller has given the call up.
    Cancelled,
    /// There is a failure.
    Failed(FailureKind),
}

/// The calls of a method by a caller that have ended at a peer.
#[derive(Debug, Clone)]
pub struct Counted {
    /// The caller.
    pub caller: Arc<str>,
    /// The service.
    pub service: Arc<str>,
    /// The method: the full name of its service in the schema, a slash, and its name.
    pub method: String,
    /// The party that had the calls: an application, or the daemon or server at the end of a route. Empty for calls that nobody had.
    pub peer: Arc<str>,
    /// The numbers of calls by their outcomes, without those that are zero.
    pub calls: Vec<(Status, u64)>,
    /// The times from the request to the outcome.
    pub times: Latency,
}

impl CallCounts {
    /// Returns the counts of all calls that have ended.
    pub fn read(&self) -> Vec<Counted> {
        let all = self.0.lock();
        let counted = all.iter().map(|(Series { caller, service, method, peer }, counts)| Counted {
            caller: Arc::clone(caller),
            service: Arc::clone(service),
            method: method.clone(),
            peer: Arc::clone(peer),
            calls: counts.calls(),
            times: counts.times.snapshot(),
        });
        counted.collect()
    }

    /// Returns the counts of a method, for engines that add to them.
    pub(crate) fn of(
        &self,
        caller: &Arc<str>,
        service: &Arc<str>,
        method: String,
        peer: Arc<str>,
    ) -> Arc<Counts> {
        let mut all = self.0.lock();
        let series = Series { caller: Arc::clone(caller), service: Arc::clone(service), method, peer };
        let is_full = all.len() >= MOST && !all.contains_key(&series);
        let none = || {
            let others: Arc<str> = OTHERS.into();
            Series { caller: others.clone(), service: others.clone(), method: OTHERS.into(), peer: others }
        };
        Arc::clone(all.entry(if is_full { none() } else { series }).or_default())
    }
}

impl Counts {
    /// Adds a call that took this time.
    pub(crate) fn add(&self, status: Status, took: Duration) {
        if let Some(count) = Status::ALL.iter().position(|other| *other == status) {
            self.by_status[count].fetch_add(1, Relaxed);
        }
        self.times.record(took);
    }

    fn calls(&self) -> Vec<(Status, u64)> {
        let counts = Status::ALL.into_iter().zip(&self.by_status);
        counts.map(|(status, count)| (status, count.load(Relaxed))).filter(|(_, count)| *count > 0).collect()
    }
}

impl Status {
    /// All statuses.
    pub const ALL: [Self; 11] = [
        Self::Done,
        Self::Cancelled,
        Self::Failed(FailureKind::Overloaded),
        Self::Failed(FailureKind::TimedOut),
        Self::Failed(FailureKind::UnknownMethod),
        Self::Failed(FailureKind::Malformed),
        Self::Failed(FailureKind::TooLarge),
        Self::Failed(FailureKind::Failed),
        Self::Failed(FailureKind::Disconnected),
        Self::Failed(FailureKind::Denied),
        Self::Failed(FailureKind::Unavailable),
    ];

    /// Returns the status of an outcome.
    pub(crate) fn of(outcome: &Kind) -> Self {
        match outcome {
            Kind::Failure(refusal) => Self::Failed(refusal.kind),
            _ => Self::Done,
        }
    }

    /// Returns the name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "ok",
            Self::Cancelled => "cancelled",
            Self::Failed(FailureKind::Overloaded) => "overloaded",
            Self::Failed(FailureKind::TimedOut) => "timed-out",
            Self::Failed(FailureKind::UnknownMethod) => "unknown-method",
            Self::Failed(FailureKind::Malformed) => "malformed",
            Self::Failed(FailureKind::TooLarge) => "too-large",
            Self::Failed(FailureKind::Disconnected) => "disconnected",
            Self::Failed(FailureKind::Denied) => "denied",
            Self::Failed(FailureKind::Unavailable) => "unavailable",
            // Kinds of later versions are read as failures of the service.
            Self::Failed(_) => "failed",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_that_take_ever_new_names_are_counted_together() {
        let counts = CallCounts::default();
        for name in 0..2 * MOST {
            let caller = format!("caller {name}").into();
            counts
                .of(&caller, &"hotel".into(), "Hotel/Ping".into(), "".into())
                .add(Status::Done, Duration::ZERO);
        }
        let read = counts.read();
        assert_eq!(read.len(), MOST + 1);
        let others = read.iter().find(|counted| &*counted.caller == OTHERS).unwrap();
        assert_eq!(others.calls, [(Status::Done, MOST as u64)]);
    }

    #[test]
    fn statuses_have_names_of_their_own() {
        let mut names = Status::ALL.map(Status::name).to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Status::ALL.len());
    }
}
