//! The bound on the peer's failed proposals for which this end stages a stack, without I/O.

use bertha_core::token_bucket::{Rate, TokenBucket};
use std::time::Instant;

/// A proposal, in the unit of the bucket.
const ONE: u64 = 1_000;

/// Four proposals at once, and four proposals per second after that.
const RATE: Rate = Rate { per_second: 4 * ONE, burst: 4 * ONE };

/// The peer's proposals that failed after this end had begun to build the stack.
///
/// A change that succeeds costs both ends equally much. A proposal that is given up may cost its proposer one
/// message, and the other end a whole stack, with its handshakes. A proposal beyond the bound is not
/// answered; an honest proposer repeats it.
#[derive(Debug, Default)]
pub(super) struct VainProposals(Option<Bucket>);

#[derive(Debug)]
struct Bucket {
    tokens: TokenBucket,
    since: Instant,
}

impl VainProposals {
    /// Counts a failed proposal.
    pub(super) fn add(&mut self, now: Instant) {
        let bucket =
            self.0.get_or_insert_with(|| Bucket { tokens: TokenBucket::new(RATE.burst), since: now });
        bucket.tokens.spend(ONE);
    }

    /// Returns true if no further proposal may be staged now.
    pub(super) fn are_too_many(&mut self, now: Instant) -> bool {
        let since_first = |bucket: &Bucket| now.saturating_duration_since(bucket.since);
        self.0.as_mut().is_some_and(|bucket| {
            let time = since_first(bucket);
            bucket.tokens.ready_at(time, RATE).is_some()
        })
    }
}
