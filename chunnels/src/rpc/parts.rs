//! The parts of a stream of responses or of requests: counted where they are sent, put in order where they arrive.

use bertha_core::Buf;
use std::collections::VecDeque;

/// How many parts an end takes at most before it has to say that it takes more.
pub(super) const WINDOW: u32 = 64;

/// The parts that an end may send.
#[derive(Debug, Default)]
pub(super) struct Allowance {
    sent: u32,
    granted: u32,
}

impl Allowance {
    /// Allows this many parts at first.
    pub(super) fn new(granted: u32) -> Self {
        Self { sent: 0, granted }
    }

    /// Returns the number of parts that were sent.
    pub(super) fn sent(&self) -> u32 {
        self.sent
    }

    #[inline]
    pub(super) fn has_room(&self) -> bool {
        self.sent < self.granted
    }

    /// Counts a part that is sent, and returns its index.
    #[inline]
    pub(super) fn take(&mut self) -> u32 {
        let index = self.sent;
        self.sent += 1;
        index
    }

    /// Records that the peer takes parts up to this number.
    ///
    /// It can have taken no part that was not sent, so whatever it grants, no more than a window of them are made at a time.
    pub(super) fn grant(&mut self, parts: u32) {
        self.granted = self.granted.max(parts.min(self.sent.saturating_add(WINDOW)));
    }
}

/// Parts that have arrived, in any order, and were not taken.
///
/// At most [`WINDOW`] of them: the sender sends no part beyond those that were granted.
#[derive(Debug, Default)]
pub(super) struct Parts {
    /// From the next one to take. None for one that has not arrived.
    arrived: VecDeque<Option<Buf>>,
    taken: u32,
    granted: u32,
    total: Option<u32>,
}

/// A peer that sends a part twice, one that was not granted, or one behind the end.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Violation;

/// The outcome of taking a part.
#[derive(Debug)]
pub(super) enum Next {
    Part(Buf),
    /// The next one has not arrived.
    Nothing,
    End,
}

impl Parts {
    /// Grants this many parts at first, at most [`WINDOW`].
    pub(super) fn granting(granted: u32) -> Self {
        Self { granted, ..Self::default() }
    }

    /// Returns the number of parts that the sender may send.
    pub(super) fn granted(&self) -> u32 {
        self.granted
    }

    /// Returns true for a part that may be sent.
    pub(super) fn is_granted(&self, index: u32) -> bool {
        index < self.granted
    }

    /// Returns true once the number of parts is known.
    pub(super) fn has_end(&self) -> bool {
        self.total.is_some()
    }

    /// Drops the parts that were not taken.
    pub(super) fn clear(&mut self) {
        self.arrived = VecDeque::new();
    }

    pub(super) fn on_part(&mut self, index: u32, part: Buf) -> Result<(), Violation> {
        if index < self.taken || index >= self.granted || self.total.is_some_and(|total| index >= total) {
            return Err(Violation);
        }
        let at = (index - self.taken) as usize;
        while self.arrived.len() <= at {
            self.arrived.push_back(None);
        }
        match self.arrived[at].replace(part) {
            None => Ok(()),
            Some(_) => Err(Violation),
        }
    }

    pub(super) fn on_end(&mut self, total: u32) -> Result<(), Violation> {
        let seen = self.taken as usize + self.arrived.len();
        if self.total.is_some() || (total as usize) < seen || total > self.granted {
            return Err(Violation);
        }
        self.total = Some(total);
        Ok(())
    }

    pub(super) fn take(&mut self) -> Next {
        if self.total == Some(self.taken) {
            return Next::End;
        }
        match self.arrived.front_mut().and_then(Option::take) {
            Some(part) => {
                self.arrived.pop_front();
                self.taken += 1;
                Next::Part(part)
            }
            None => Next::Nothing,
        }
    }

    /// Returns the number of parts that the sender may send from now on, once half of a window is free: of `window` parts
    /// behind those that were taken, at least one and at most [`WINDOW`].
    pub(super) fn due_credit(&mut self, window: u32) -> Option<u32> {
        let wanted = self.taken.checked_add(window)?;
        // Parts that were granted stay so when the window shrinks. One part alone is a window as well.
        let is_due = self.total.is_none() && wanted.saturating_sub(self.granted) >= (window / 2).max(1);
        is_due.then(|| {
            self.granted = wanted;
            wanted
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    fn part(number: u8) -> Buf {
        Buf::copy_of(&[number], 0).unwrap()
    }

    fn taken(parts: &mut Parts) -> Option<u8> {
        match parts.take() {
            Next::Part(part) => Some(part[0]),
            Next::Nothing | Next::End => None,
        }
    }

    #[test]
    fn parts_in_any_order_are_taken_in_theirs() {
        let mut parts = Parts::granting(WINDOW);
        parts.on_part(2, part(2)).unwrap();
        assert!(matches!(parts.take(), Next::Nothing));
        parts.on_end(3).unwrap();
        parts.on_part(0, part(0)).unwrap();
        assert_eq!([taken(&mut parts), taken(&mut parts)], [Some(0), None]);
        parts.on_part(1, part(1)).unwrap();
        assert_eq!([taken(&mut parts), taken(&mut parts)], [Some(1), Some(2)]);
        assert!(matches!(parts.take(), Next::End));
    }

    #[test]
    fn credit_is_given_for_each_half_of_the_window() {
        let mut parts = Parts::granting(WINDOW);
        let mut granted = WINDOW;
        for index in 0..1000 {
            parts.on_part(index, part(0)).unwrap();
            taken(&mut parts).unwrap();
            if let Some(credit) = parts.due_credit(WINDOW) {
                assert_eq!((index + 1) % (WINDOW / 2), 0);
                assert_eq!(credit, index + 1 + WINDOW);
                granted = credit;
            }
            assert!(granted > index + 1);
        }
    }

    #[test]
    fn a_window_that_shrinks_and_grows_stops_no_sender() {
        let mut parts = Parts::granting(8);
        for (index, window) in (0..1000).zip([1, 2, 3, WINDOW, 1, 1].into_iter().cycle()) {
            assert!(parts.is_granted(index));
            parts.on_part(index, part(0)).unwrap();
            taken(&mut parts).unwrap();
            let before = parts.granted();
            match parts.due_credit(window) {
                Some(credit) => assert!(credit == index + 1 + window && credit > before),
                None => assert_eq!(parts.granted(), before),
            }
        }
    }

    #[test]
    fn what_was_not_granted_is_a_violation() {
        for wrong in [
            |parts: &mut Parts| parts.on_part(WINDOW, part(0)),
            |parts: &mut Parts| parts.on_part(1, part(0)),
            |parts: &mut Parts| parts.on_part(0, part(0)),
            |parts: &mut Parts| parts.on_end(1),
            |parts: &mut Parts| parts.on_end(WINDOW + 1),
            |parts: &mut Parts| parts.on_end(2).and(parts.on_part(2, part(0))),
            |parts: &mut Parts| parts.on_end(2).and(parts.on_end(2)),
        ] {
            let mut parts = Parts::granting(WINDOW);
            parts.on_part(0, part(0)).unwrap();
            parts.on_part(1, part(1)).unwrap();
            taken(&mut parts).unwrap();
            assert_eq!(wrong(&mut parts), Err(Violation));
        }
    }

    #[test]
    fn an_allowance_goes_a_window_beyond_the_parts_that_were_sent() {
        let mut allowance = Allowance::new(0);
        assert!(!allowance.has_room());
        allowance.grant(u32::MAX);
        for index in 0..WINDOW {
            assert!(allowance.has_room());
            assert_eq!((allowance.take(), allowance.sent()), (index, index + 1));
        }
        allowance.grant(1);
        assert!(!allowance.has_room());
        allowance.grant(WINDOW + 1);
        assert!(allowance.has_room());
    }

    #[test]
    fn an_end_at_the_bounds_of_what_can_be_is_none() {
        let mut parts = Parts::granting(WINDOW);
        assert_eq!((parts.on_part(WINDOW - 1, part(0)), parts.on_end(WINDOW)), (Ok(()), Ok(())));
        let mut parts = Parts::granting(WINDOW);
        parts.on_end(0).unwrap();
        assert!(matches!(parts.take(), Next::End));
        let mut parts = Parts::granting(WINDOW);
        parts.on_end(2).unwrap();
        assert_eq!((parts.on_part(1, part(1)), parts.on_part(2, part(2))), (Ok(()), Err(Violation)));
        for _ in 0..WINDOW {
            assert_eq!(parts.due_credit(WINDOW), None, "the sender needs no more");
        }
    }
}
