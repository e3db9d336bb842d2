//! Counters of the calls that a server answers.

use super::statistics::ServeStatistics;
use crate::rpc::{Failure, FailureKind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Counters of the calls that a server answers: of one connection, or of all connections that
/// [count with it](super::Serve::counted_by). Clones share the counters.
///
/// A call costs two atomic additions.
///
/// ```
/// # use bertha_chunnels::rpc::{Message, ServedCalls, Service, serve};
/// # use bertha_core::{Connection, Statistics};
/// # fn example(connection: impl Connection<Data = Message>, service: impl Service) {
/// let calls = ServedCalls::default();
/// let serving = serve(connection, service).counted_by(&calls);
/// // At any time:
/// let mut statistics = Statistics::default();
/// statistics.add("ServedCalls", calls.statistics());
/// # drop(serving);
/// # }
/// ```
#[derive(Debug, Clone, Default)]
pub struct ServedCalls(Arc<Counters>);

/// Number of kinds of failures.
const KINDS: usize = 9;

#[derive(Debug, Default)]
struct Counters {
    begun: AtomicU64,
    answered: AtomicU64,
    failed: [AtomicU64; KINDS],
    refused: AtomicU64,
    cancelled: AtomicU64,
    abandoned: AtomicU64,
    unexpected: AtomicU64,
    streams: AtomicU64,
    to_send_answers: AtomicU64,
    to_send_bytes: AtomicU64,
}

impl ServedCalls {
    /// Returns the counts and the state of the calls.
    pub fn statistics(&self) -> ServeStatistics {
        let Counters { failed, .. } = &*self.0;
        let answered = self.0.answered.load(Relaxed);
        let cancelled = self.0.cancelled.load(Relaxed);
        let abandoned = self.0.abandoned.load(Relaxed);
        let failed = (0..).zip(failed).map(|(code, count)| (FailureKind::of_code(code), count.load(Relaxed)));
        let failed: Vec<_> = failed.filter(|(_, calls)| *calls > 0).collect();
        let all_failed: u64 = failed.iter().map(|(_, calls)| calls).sum();
        let over = answered + cancelled + abandoned + all_failed;
        ServeStatistics {
            // Read last, so that a call that ends meanwhile does not count as one that never began.
            under_way: self.0.begun.load(Relaxed).saturating_sub(over),
            streams: self.0.streams.load(Relaxed),
            to_send_answers: self.0.to_send_answers.load(Relaxed),
            to_send_bytes: self.0.to_send_bytes.load(Relaxed),
            answered,
            failed,
            refused: self.0.refused.load(Relaxed),
            cancelled,
            abandoned,
            unexpected: self.0.unexpected.load(Relaxed),
        }
    }

    pub(super) fn begun(&self) {
        self.0.begun.fetch_add(1, Relaxed);
    }

    pub(super) fn answered(&self) {
        self.0.answered.fetch_add(1, Relaxed);
    }

    /// Records that a call has failed.
    #[cold]
    pub(super) fn failed(&self, failure: &Failure) {
        if let Some(count) = self.0.failed.get(usize::from(failure.kind().code())) {
            count.fetch_add(1, Relaxed);
        }
    }

    #[cold]
    pub(super) fn refused(&self) {
        self.0.refused.fetch_add(1, Relaxed);
    }

    #[cold]
    pub(super) fn cancelled(&self) {
        self.0.cancelled.fetch_add(1, Relaxed);
    }

    #[cold]
    pub(super) fn unexpected(&self) {
        self.0.unexpected.fetch_add(1, Relaxed);
    }

    /// Records that the connection has ended amid this number of calls.
    #[cold]
    pub(super) fn abandoned(&self, calls: usize) {
        self.0.abandoned.fetch_add(calls as u64, Relaxed);
    }

    /// Counts a stream until the value is dropped.
    pub(super) fn stream(&self) -> OpenStream {
        self.0.streams.fetch_add(1, Relaxed);
        OpenStream(self.clone())
    }

    /// Counts answers that their client does not read, until the value is dropped.
    #[cold]
    pub(super) fn held(&self, answers: usize, bytes: usize) -> HeldAnswers {
        let held = HeldAnswers { calls: self.clone(), answers: answers as u64, bytes: bytes as u64 };
        self.0.to_send_answers.fetch_add(held.answers, Relaxed);
        self.0.to_send_bytes.fetch_add(held.bytes, Relaxed);
        held
    }
}

/// A stream of responses that has not ended.
pub(super) struct OpenStream(ServedCalls);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.0.streams.fetch_sub(1, Relaxed);
    }
}

/// Answers that wait for their client.
pub(super) struct HeldAnswers {
    calls: ServedCalls,
    answers: u64,
    bytes: u64,
}

impl Drop for HeldAnswers {
    fn drop(&mut self) {
        self.calls.0.to_send_answers.fetch_sub(self.answers, Relaxed);
        self.calls.0.to_send_bytes.fetch_sub(self.bytes, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_of_a_kind_has_a_counter() {
        let calls = ServedCalls::default();
        for code in 0..KINDS as u8 {
            let kind = FailureKind::of_code(code);
            assert_eq!(kind.code(), code);
            calls.begun();
            calls.failed(&Failure::of(kind, "why"));
        }
        calls.begun();
        let statistics = calls.statistics();
        assert_eq!((statistics.failed.len(), statistics.under_way), (KINDS, 1));
        assert_eq!(statistics.failed[0], (FailureKind::Failed, 1));
        assert_eq!(FailureKind::of_code(KINDS as u8), FailureKind::Failed, "there is no further code");
    }
}
