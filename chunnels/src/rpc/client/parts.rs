//! The parts of a stream of responses, put in order.

use bertha_core::Buf;
use std::collections::VecDeque;

/// How many parts a client takes before it has to say that it takes more.
pub(crate) const WINDOW: u32 = 64;

/// Parts that have arrived, in any order, and were not taken.
///
/// At most [`WINDOW`] of them: the server sends no part beyond those that were granted.
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
    pub(super) fn new() -> Self {
        Self { granted: WINDOW, ..Self::default() }
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

    /// Returns the number of parts that the server may send from now on, once half of those granted were taken.
    pub(super) fn due_credit(&mut self) -> Option<u32> {
        let wanted = self.taken.checked_add(WINDOW)?;
        let is_due = self.total.is_none() && wanted - self.granted >= WINDOW / 2;
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
        let mut parts = Parts::new();
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
        let mut parts = Parts::new();
        let mut granted = WINDOW;
        for index in 0..1000 {
            parts.on_part(index, part(0)).unwrap();
            taken(&mut parts).unwrap();
            if let Some(credit) = parts.due_credit() {
                assert_eq!((index + 1) % (WINDOW / 2), 0);
                assert_eq!(credit, index + 1 + WINDOW);
                granted = credit;
            }
            assert!(granted > index + 1);
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
            let mut parts = Parts::new();
            parts.on_part(0, part(0)).unwrap();
            parts.on_part(1, part(1)).unwrap();
            taken(&mut parts).unwrap();
            assert_eq!(wrong(&mut parts), Err(Violation));
        }
    }

    #[test]
    fn an_end_at_the_bounds_of_what_can_be_is_none() {
        let mut parts = Parts::new();
        assert_eq!((parts.on_part(WINDOW - 1, part(0)), parts.on_end(WINDOW)), (Ok(()), Ok(())));
        let mut parts = Parts::new();
        parts.on_end(0).unwrap();
        assert!(matches!(parts.take(), Next::End));
        let mut parts = Parts::new();
        parts.on_end(2).unwrap();
        assert_eq!((parts.on_part(1, part(1)), parts.on_part(2, part(2))), (Ok(()), Err(Violation)));
        for _ in 0..WINDOW {
            assert_eq!(parts.due_credit(), None, "the server needs no more");
        }
    }
}
