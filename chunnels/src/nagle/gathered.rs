//! The gathering of messages into bursts, without I/O.

use super::NagleStatistics;
use crate::gathering::{Gather, GatheringCounts};
use bertha_core::Statistics;
use std::collections::VecDeque;
use std::time::Duration;

/// Maximum number of bursts that wait to be sent.
const MAX_WAITING: usize = 16;

/// The messages that wait to be sent.
#[derive(Debug)]
pub(super) struct Gathered<T> {
    messages: VecDeque<Waiting<T>>,
    /// Number of messages at the front that are due now.
    going: usize,
    burst: usize,
    wait: Duration,
}

#[derive(Debug)]
struct Waiting<T> {
    message: T,
    /// The time at which the message is sent, with all messages behind it.
    due: Duration,
}

impl<T> Gathered<T> {
    /// Makes a gathering of bursts of `burst` messages, of which the first waits for at most `wait`.
    pub(super) fn new(burst: usize, wait: Duration) -> Self {
        Self { messages: VecDeque::new(), going: 0, burst, wait }
    }

    pub(super) fn push(&mut self, message: T, now: Duration) {
        self.messages.push_back(Waiting { message, due: now + self.wait });
        if self.messages.len() - self.going >= self.burst {
            self.going = self.messages.len();
        }
    }
}

impl<T: Send + 'static> Gather for Gathered<T> {
    type Item = T;

    fn pop(&mut self, now: Duration) -> Option<T> {
        if self.going == 0 && self.messages.front().is_some_and(|first| first.due <= now) {
            self.flush();
        }
        self.going = self.going.checked_sub(1)?;
        self.messages.pop_front().map(|first| first.message)
    }

    fn due(&self) -> Option<Duration> {
        if self.going > 0 { Some(Duration::ZERO) } else { self.messages.front().map(|first| first.due) }
    }

    fn flush(&mut self) {
        self.going = self.messages.len();
    }

    fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    fn has_capacity(&self) -> bool {
        self.messages.len() < MAX_WAITING * self.burst
    }

    fn observe(&self, counts: &GatheringCounts, into: &mut Statistics) {
        let statistics = NagleStatistics {
            to_send_messages: self.messages.len() as u64,
            capacity: (MAX_WAITING * self.burst) as u64,
            messages: counts.items,
            bursts: counts.bursts,
            refused_bursts: counts.refusals,
        };
        into.add("Nagle", statistics);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    fn pop_all(gathered: &mut Gathered<u32>, now: Duration) -> Vec<u32> {
        std::iter::from_fn(|| gathered.pop(now)).collect()
    }

    #[test]
    fn a_burst_goes_when_it_is_full_or_its_first_message_is_due() {
        let mut gathered = Gathered::new(3, 10 * MS);
        gathered.push(0, MS);
        gathered.push(1, 5 * MS);
        assert_eq!((gathered.pop(10 * MS), gathered.due()), (None, Some(11 * MS)));
        // The messages behind it need not wait as long.
        assert_eq!(pop_all(&mut gathered, 11 * MS), [0, 1]);
        assert!(gathered.is_empty() && gathered.due().is_none());
        for number in 2..6 {
            gathered.push(number, 12 * MS);
        }
        assert_eq!(gathered.due(), Some(Duration::ZERO));
        assert_eq!(pop_all(&mut gathered, 12 * MS), [2, 3, 4]);
        assert_eq!(gathered.due(), Some(22 * MS));
        gathered.flush();
        assert_eq!(pop_all(&mut gathered, 12 * MS), [5]);
    }

    #[test]
    fn it_is_bounded() {
        let mut gathered = Gathered::new(2, MS);
        let count = (0..100).take_while(|number| {
            let has_capacity = gathered.has_capacity();
            if has_capacity {
                gathered.push(*number, MS);
            }
            has_capacity
        });
        assert_eq!(count.count(), 32);
        assert_eq!(pop_all(&mut gathered, MS).len(), 32);
    }
}
