//! Telling a replayed message from a late one.

/// Which of the peer's counters were seen: all up to the highest, as far as 64 back; what is older counts as seen
/// (RFC 4303 section 3.4.3).
#[derive(Debug, Default)]
pub(super) struct Window {
    /// One more than the highest, so that none has been seen at first.
    next: u64,
    /// Bit `n` stands for `next - 1 - n`.
    seen: u64,
}

impl Window {
    /// Whether the message with this counter is the first, which it then was.
    pub(super) fn is_first(&mut self, counter: u64) -> bool {
        let Some(after) = counter.checked_add(1) else { return false };
        if after > self.next {
            let steps = after - self.next;
            self.seen = if steps < 64 { self.seen << steps } else { 0 } | 1;
            self.next = after;
            return true;
        }
        let back = self.next - after;
        let is_first = back < 64 && self.seen & 1 << back == 0;
        if is_first {
            self.seen |= 1 << back;
        }
        is_first
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_counter_counts_once() {
        let mut window = Window::default();
        assert_eq!(
            [0, 0, 2, 1, 1, 2, 3].map(|it| window.is_first(it)),
            [true, false, true, true, false, false, true]
        );
        assert!(window.is_first(100) && window.is_first(37) && !window.is_first(36) && !window.is_first(37));
        assert!(window.is_first(u64::MAX - 1) && !window.is_first(u64::MAX) && !window.is_first(100));
    }

    proptest! {
        #[test]
        fn it_is_a_set_with_a_horizon(counters in proptest::collection::vec(0..300u64, 0..400)) {
            let (mut window, mut seen) = (Window::default(), BTreeSet::new());
            for counter in counters {
                let is_too_old = seen.last().is_some_and(|highest| highest >= &(counter + 64));
                let is_first = !is_too_old && seen.insert(counter);
                prop_assert_eq!(window.is_first(counter), is_first, "{}", counter);
            }
        }
    }
}
