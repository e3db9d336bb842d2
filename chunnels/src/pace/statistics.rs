//! The senders that wait, for people who ask what a connection does.

use bertha_core::Statistics;
use bertha_core::statistics::{LayerStatistics, Observed, Value};
use bertha_core::token_bucket::Rate;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// The rate of a connection of [`Pace`](super::Pace), and the senders that wait for it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct PaceStatistics {
    /// The rate, in bytes per second.
    pub rate: u64,
    /// Number of bytes that are sent at once after an idle time.
    pub burst: u64,
    /// Calls that wait until their message may be sent.
    pub waiting: u64,
    /// Number of times that a call had to wait, since the connection began.
    pub delayed: u64,
}

impl LayerStatistics for PaceStatistics {
    fn values(&self) -> Vec<(&'static str, Value)> {
        vec![
            ("rate", Value::Rate(self.rate)),
            ("burst", Value::Bytes(self.burst)),
            ("waiting", Value::Number(self.waiting)),
            ("delayed", Value::Total(self.delayed)),
        ]
    }
}

/// The senders that wait. A message that may be sent at once costs nothing here.
#[derive(Debug)]
pub(super) struct WaitingSenders {
    rate: Rate,
    waiting: AtomicU64,
    delayed: AtomicU64,
}

impl WaitingSenders {
    pub(super) fn new(rate: Rate) -> Arc<Self> {
        let (waiting, delayed) = Default::default();
        Arc::new(Self { rate, waiting, delayed })
    }

    /// Counts a sender until the value is dropped.
    pub(super) fn enter(&self) -> WaitingSender<'_> {
        self.waiting.fetch_add(1, Relaxed);
        self.delayed.fetch_add(1, Relaxed);
        WaitingSender(self)
    }
}

/// A sender that waits.
pub(super) struct WaitingSender<'a>(&'a WaitingSenders);

impl Drop for WaitingSender<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Relaxed);
    }
}

impl Observed for WaitingSenders {
    fn observe(&self, into: &mut Statistics) {
        let statistics = PaceStatistics {
            rate: self.rate.per_second,
            burst: self.rate.burst,
            waiting: self.waiting.load(Relaxed),
            delayed: self.delayed.load(Relaxed),
        };
        into.add("Pace", statistics);
    }
}
