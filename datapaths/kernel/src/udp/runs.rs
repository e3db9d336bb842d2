//! A burst on its way into the kernel, with messages of one length behind each other.

use crate::datagram::Burst;
use bertha_core::{Buf, Error};
use std::array::from_fn;

/// The longest message that goes into a run with others: what an Ethernet frame carries of UDP over IPv6. Segments
/// can't be fragmented, so on a path with a smaller MTU segmentation fails, and is given up for the connection.
const SEGMENT: usize = 1500 - 40 - 8;

/// The most messages that the kernel takes as one datagram.
pub(super) const SEGMENTS: usize = 64;

/// The most bytes of one datagram.
const CONTENTS: usize = 65_535 - 20 - 8;

/// How many runs may be open at once.
const RUNS: usize = 16;

/// Messages of one length, copied behind each other. The copy costs a fraction of what a way of their own through the
/// network stack would.
#[derive(Debug)]
pub(super) struct Run {
    contents: Buf,
    segment: usize,
    start: usize,
    end: usize,
    /// No further message is added from this end on.
    full: usize,
}

impl Run {
    fn of(message: Buf) -> Result<Self, Error> {
        let segment = message.len();
        if !is_segment(segment) {
            return Ok(Self { contents: message, segment, start: 0, end: segment, full: 0 });
        }
        let full = (SEGMENTS * segment).min(CONTENTS + 1 - segment);
        let mut run = Self { contents: Buf::new(CONTENTS, 0)?, segment, start: 0, end: 0, full };
        run.push(&message);
        Ok(run)
    }

    #[inline]
    fn push(&mut self, message: &[u8]) {
        let start = self.end;
        self.end += self.segment;
        self.contents[start..self.end].copy_from_slice(message);
    }

    #[inline]
    fn is_full(&self) -> bool {
        self.end >= self.full
    }

    /// The length of its messages.
    pub(super) fn segment(&self) -> usize {
        self.segment
    }

    /// The messages, one behind the other.
    pub(super) fn contents(&self) -> &[u8] {
        &self.contents[self.start..self.end]
    }

    /// How many messages there are: one at least.
    pub(super) fn count(&self) -> usize {
        (self.end - self.start).checked_div(self.segment).unwrap_or(1)
    }
}

fn is_segment(length: usize) -> bool {
    (1..=SEGMENT).contains(&length)
}

/// Open runs.
///
/// Another is begun for each length. They leave when they are full, and at the end of the burst; so messages of
/// different lengths may overtake each other, and those of one length don't. To send whenever the length changes
/// would keep their order, at the price of a call and a way through the network stack for every few messages: where
/// replies to reads and to writes alternate, a third of the throughput is left then.
#[derive(Debug)]
pub struct Runs {
    /// The first `open` are there.
    runs: [Option<Run>; RUNS],
    open: usize,
    /// Where the last message went; the next one is likely to go there too.
    last: usize,
    leaving: Leaving,
}

/// What has to leave before another message is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Nothing,
    /// The run with this number.
    One(usize),
    All,
}

impl Runs {
    /// The run that leaves next.
    pub(super) fn next(&self) -> Option<&Run> {
        self.runs[self.next_number()?].as_ref()
    }

    fn next_number(&self) -> Option<usize> {
        match self.leaving {
            Leaving::One(number) => Some(number),
            Leaving::Nothing | Leaving::All => self.open.checked_sub(1),
        }
    }

    /// The first `count` messages of [`next`](Self::next) have left.
    pub(super) fn have_left(&mut self, count: usize) {
        let Some(number) = self.next_number() else { return };
        if let Some(run) = &mut self.runs[number]
            && count < run.count()
        {
            run.start += count * run.segment;
            return;
        }
        self.open -= 1;
        self.runs.swap(number, self.open);
        self.runs[self.open] = None;
        self.settle();
    }

    /// The messages that are alone in their runs, if there are several, and no run has to leave before.
    pub(super) fn singles(&self) -> Option<impl Iterator<Item = &[u8]>> {
        let runs = || self.runs[..self.open].iter().flatten().filter(|run| run.count() == 1);
        let several = !matches!(self.leaving, Leaving::One(_)) && runs().nth(1).is_some();
        several.then(|| runs().map(Run::contents))
    }

    /// The first `count` of [`singles`](Self::singles) have left.
    pub(super) fn singles_have_left(&mut self, mut count: usize) {
        let mut kept = 0;
        for number in 0..self.open {
            if count > 0 && self.runs[number].as_ref().is_some_and(|run| run.count() == 1) {
                count -= 1;
                self.runs[number] = None;
            } else {
                self.runs.swap(kept, number);
                kept += 1;
            }
        }
        self.open = kept;
        self.settle();
    }

    fn settle(&mut self) {
        self.last = 0;
        if self.leaving != Leaving::All || self.open == 0 {
            self.leaving = Leaving::Nothing;
        }
    }

    #[inline]
    fn push(&mut self, message: Buf) -> Result<(), Error> {
        let takes = |run: &Option<Run>| run.as_ref().is_some_and(|run| run.segment == message.len());
        let number = match takes(&self.runs[self.last]) {
            true => Some(self.last),
            false => self.runs[..self.open].iter().position(takes),
        };
        let Some(number) = number else { return self.begin(message) };
        self.last = number;
        if let Some(run) = &mut self.runs[number] {
            run.push(&message);
            if run.is_full() {
                self.leaving = Leaving::One(number);
            }
        }
        Ok(())
    }

    fn begin(&mut self, message: Buf) -> Result<(), Error> {
        let run = Run::of(message)?;
        self.last = self.open;
        self.open += 1;
        if run.is_full() {
            self.leaving = Leaving::One(self.last);
        } else if self.open == RUNS {
            self.leaving = Leaving::All;
        }
        self.runs[self.last] = Some(run);
        Ok(())
    }
}

impl Burst for Runs {
    fn new() -> Self {
        Self { runs: from_fn(|_| None), open: 0, last: 0, leaving: Leaving::Nothing }
    }

    #[inline]
    fn fill(&mut self, messages: &mut impl Iterator<Item = Buf>) -> Result<(), Error> {
        while self.leaving == Leaving::Nothing {
            let Some(message) = messages.next() else { break };
            self.push(message)?;
        }
        Ok(())
    }

    fn next_len(&self) -> Option<usize> {
        self.next().map(Run::segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(number: usize, length: usize) -> Buf {
        let mut message = Buf::new(length, 0).unwrap();
        let bytes = (number as u32).to_le_bytes();
        message.iter_mut().zip(bytes).for_each(|(byte, value)| *byte = value);
        message
    }

    /// What leaves, in datagrams of one or more messages; `most` messages go at once where they could be more.
    fn leave(lengths: &[usize], most: usize) -> Vec<Vec<Vec<u8>>> {
        let mut messages = lengths.iter().enumerate().map(|(number, &length)| message(number, length));
        let (mut runs, mut left) = (Runs::new(), Vec::new());
        loop {
            runs.fill(&mut messages).unwrap();
            if runs.next_len().is_none() {
                return left;
            }
            let singles =
                runs.singles().map(|singles| singles.take(most).map(|single| vec![single.to_vec()]));
            if let Some(singles) = singles.map(Vec::from_iter) {
                runs.singles_have_left(singles.len());
                left.extend(singles);
            } else {
                let run = runs.next().unwrap();
                let count = run.count().min(most);
                let contents = &run.contents()[..count * run.segment()];
                let pieces = contents.chunks(run.segment().max(1)).map(<[u8]>::to_vec);
                left.push(if run.segment() == 0 { vec![vec![]] } else { pieces.collect() });
                runs.have_left(count);
            }
        }
    }

    fn sizes(lengths: &[usize]) -> Vec<Vec<usize>> {
        leave(lengths, usize::MAX).iter().map(|datagram| datagram.iter().map(Vec::len).collect()).collect()
    }

    #[test]
    fn messages_of_one_length_go_together() {
        assert_eq!(sizes(&[5, 9, 5, 5, 9, 5]), [vec![9; 2], vec![5; 4]]);
        assert_eq!(sizes(&[5; 130]), [vec![5; 64], vec![5; 64], vec![5; 2]]);
        assert_eq!(sizes(&[5]), [[5]]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn what_no_run_can_carry_goes_at_once() {
        assert_eq!(sizes(&[7, SEGMENT + 1, 0, 7]), [vec![SEGMENT + 1], vec![0], vec![7; 2]]);
    }

    #[test]
    fn more_lengths_than_runs_leave_one_by_one_but_in_one_call() {
        let lengths: Vec<_> = (1..=RUNS + 1).collect();
        assert_eq!(sizes(&lengths).concat(), lengths);
    }

    proptest! {
        #[test]
        fn everything_leaves_once_and_in_order_within_one_length(
            lengths in prop::collection::vec(prop_oneof![0..4_usize, 4..40_usize, Just(1400), Just(1500)], 0..300),
            most in 1..70_usize,
        ) {
            let left = leave(&lengths, most).concat();
            let mut expected: Vec<_> =
                lengths.iter().enumerate().map(|(number, &length)| message(number, length).to_vec()).collect();
            let mut sorted = left;
            // A stable sort keeps the order within one length.
            sorted.sort_by_key(Vec::len);
            expected.sort_by_key(Vec::len);
            prop_assert_eq!(sorted, expected);
        }
    }
}
