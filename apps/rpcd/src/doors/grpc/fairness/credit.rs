//! The bytes that a connection may hear which are no part of calls.

use parking_lot::Mutex;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::time::{Duration, Instant};

/// Number of such bytes in a second: pings, settings, headers that are too long, and frames that mean nothing.
const NOISE: i64 = 512 << 10;

/// Number of bytes that a call brings beside its message: its headers, and what was on its way when it was refused.
const CALL: i64 = 80 << 10;

/// Number of bytes of the greatest credit: what the calls bring that may be under way at once.
const MOST: i64 = 1024 * CALL;

/// Number of bytes that a request costs which is no call. There are 512 in a second.
const FAULT: i64 = 1 << 10;

/// The credit of a connection: what it says that is no part of calls takes from it, and time gives it back.
#[derive(Debug)]
pub(crate) struct Credit {
    left: AtomicI64,
    /// The time of the last refill.
    since: Mutex<Instant>,
    /// Nothing more is heard now.
    is_paused: AtomicBool,
}

impl Default for Credit {
    fn default() -> Self {
        Self {
            left: AtomicI64::new(NOISE),
            since: Mutex::new(Instant::now()),
            is_paused: AtomicBool::new(false),
        }
    }
}

impl Credit {
    /// Does something while nothing more is heard.
    pub(crate) fn paused<T>(&self, what: impl FnOnce() -> T) -> T {
        self.is_paused.store(true, Ordering::Relaxed);
        let done = what();
        self.is_paused.store(false, Ordering::Relaxed);
        done
    }

    /// Returns true if nothing more is heard now. Its task is polled again when that has ended.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused.load(Ordering::Relaxed)
    }

    /// Notes so many bytes that were heard.
    pub(crate) fn hear(&self, bytes: usize) {
        self.add(-(bytes as i64));
    }

    /// Notes that so many of them belong to a message.
    pub(crate) fn is_message(&self, bytes: usize) {
        self.add(bytes as i64);
    }

    /// Notes that some of them belong to a call.
    pub(crate) fn is_call(&self) {
        if self.left.load(Ordering::Relaxed) < MOST {
            self.add(CALL);
        }
    }

    /// Notes that what seemed to be a call was none.
    pub(crate) fn is_fault(&self) {
        self.add(-CALL - FAULT);
    }

    /// Returns true if a connection says too much that is no part of calls. The clock is read for one that has spent its credit alone.
    pub(crate) fn is_spent(&self, now: impl FnOnce() -> Instant) -> bool {
        if self.left.load(Ordering::Relaxed) >= 0 {
            return false;
        }
        let mut since = self.since.lock();
        let now = now();
        let is_spent = now.saturating_duration_since(*since) < Duration::from_secs(1);
        if !is_spent {
            *since = now;
            self.left.store(NOISE, Ordering::Relaxed);
        }
        is_spent
    }

    fn add(&self, bytes: i64) {
        self.left.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_cost_nothing_and_noise_comes_back_with_time() {
        let (credit, start) = (Credit::default(), Instant::now());
        for _ in 0..1000 {
            credit.hear(60 << 10);
            credit.is_call();
            credit.hear(1 << 20);
            credit.is_message(1 << 20);
        }
        assert!(!credit.is_spent(|| start));
        let credit = Credit::default();
        credit.hear(NOISE as usize + 1);
        assert!(credit.is_spent(|| start));
        assert!(!credit.is_spent(|| start + Duration::from_secs(2)));
        for _ in 0..NOISE / FAULT + 1 {
            credit.is_call();
            credit.is_fault();
        }
        assert!(credit.is_spent(|| start + Duration::from_millis(2500)));
    }
}
