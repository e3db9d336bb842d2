//! The rate of spans in the log.

use bertha_core::token_bucket::{Rate, TokenBucket};
use parking_lot::Mutex;
use std::time::Duration;

/// The tokens that a span takes: the bucket rounds what a time earns down to whole tokens.
const SPAN: u64 = 1_000;

/// The rate of spans. It is locked for calls alone that would have one.
#[derive(Debug, Default)]
pub(super) struct SpanRate(Mutex<Option<Bucket>>);

#[derive(Debug)]
struct Bucket {
    /// The time of the first span, from which the bucket counts.
    first: Duration,
    /// The latest time of a span. A caller whose turn began earlier may come later.
    latest: Duration,
    tokens: TokenBucket,
}

impl SpanRate {
    /// Returns true if another span may begin now.
    pub(super) fn may_begin(&self, per_second: u64, now: Duration) -> bool {
        let per_second = per_second.saturating_mul(SPAN);
        if per_second == 0 {
            return false;
        }
        let rate = Rate { per_second, burst: per_second };
        let mut bucket = self.0.lock();
        let full = || Bucket { first: now, latest: now, tokens: TokenBucket::new(per_second) };
        let Bucket { first, latest, tokens } = bucket.get_or_insert_with(full);
        *latest = now.max(*latest);
        let may = tokens.ready_at(*latest - *first, rate).is_none();
        if may {
            tokens.spend(SPAN);
        }
        may
    }
}
