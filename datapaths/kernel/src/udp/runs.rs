//! A burst on its way into the kernel: messages of equal length lie behind each other.

use super::run::Run;
use crate::datagram::Burst;
use bertha_core::buf::BurstArena;
use bertha_core::{Buf, Error};
use std::array::from_fn;

/// Number of runs that may be open at once.
const RUNS: usize = 16;

/// The open runs of a burst.
///
/// Each message length has its own run. Runs are sent when they are full, and at the end of the burst; so
/// messages of different lengths may overtake each other, and messages of equal length don't. Sending at each
/// change of length would keep their order, at the price of a call and a way through the network stack for
/// every few messages: where replies to reads and to writes alternate, a third of the throughput would be
/// left.
#[derive(Debug)]
pub struct Runs {
    /// The runs, of which the first `open` exist.
    runs: [Option<Run>; RUNS],
    open: usize,
    /// Number of the run that most messages have joined lately. The next message is likely to join it too, so
    /// it is allocated there. Two consecutive messages of another run change the number; a single such
    /// message does not.
    last: usize,
    /// Number of the run that the last message joined without following another message, and the room that
    /// `last` had at that time, in messages.
    before: (usize, usize),
    leaving: Leaving,
    /// True if the room behind the last message was offered to the arena. The next message may have taken it
    /// since.
    offered: bool,
    /// True if offers pay. They don't if layers above keep the messages that lie there.
    offers: bool,
}

/// The runs that have to be sent before another message is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Leaving {
    Nothing,
    /// A single run, with this number.
    One(usize),
    All,
}

impl Runs {
    /// Returns the run that is sent next.
    pub(super) fn next(&self) -> Option<&Run> {
        self.runs[self.next_number()?].as_ref()
    }

    fn next_number(&self) -> Option<usize> {
        match self.leaving {
            Leaving::One(number) => Some(number),
            Leaving::Nothing | Leaving::All => self.open.checked_sub(1),
        }
    }

    /// Removes the first `count` messages of [`next`](Self::next), which were sent.
    pub(super) fn have_left(&mut self, count: usize) {
        let Some(number) = self.next_number() else { return };
        if let Some(run) = &mut self.runs[number]
            && count < run.count()
        {
            return run.have_left(count);
        }
        self.open -= 1;
        self.runs.swap(number, self.open);
        self.runs[self.open] = None;
        self.settle();
    }

    /// Returns the messages that are alone in their runs, if there are at least two, and no single run has to
    /// be sent before.
    pub(super) fn singles(&self) -> Option<impl Iterator<Item = &[u8]> + Clone> {
        let runs = || self.runs[..self.open].iter().flatten().filter(|run| run.count() == 1);
        let several = !matches!(self.leaving, Leaving::One(_)) && runs().nth(1).is_some();
        several.then(|| runs().map(Run::contents))
    }

    /// Removes the first `count` messages of [`singles`](Self::singles), which were sent.
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
        (self.last, self.before) = (0, (0, 0));
        if self.leaving != Leaving::All || self.open == 0 {
            self.leaving = Leaving::Nothing;
        }
    }

    /// Takes messages as long as each lies directly behind the last message and has its length, and the run
    /// is not full. Returns the first message that does not fit.
    // Inlining is forced: the compiler considers the function too long, and would pass buffers through
    // memory.
    #[inline(always)]
    fn follow(&mut self, messages: &mut impl Iterator<Item = Buf>, arena: &BurstArena) -> Option<Buf> {
        let mut run = self.runs[self.last].as_mut();
        loop {
            let message = messages.next()?;
            let Some(run) = run.as_mut().filter(|run| run.segment() == message.len()) else {
                return Some(message);
            };
            match run.join(message) {
                Ok(room) if !run.is_full() => arena.offer_rest(room),
                Ok(_) => {
                    self.leaving = Leaving::One(self.last);
                    self.offered = false;
                    return None;
                }
                Err(elsewhere) => return Some(elsewhere),
            }
        }
    }

    /// Takes a message that does not lie behind the last message, or differs from it in length.
    #[inline(never)]
    fn place(&mut self, message: Buf, arena: &BurstArena) -> Result<(), Error> {
        let (made_for, free) = (self.withdraw(arena), self.free());
        let takes = |run: &Option<Run>| run.as_ref().is_some_and(|run| run.segment() == message.len());
        let (number, spent) = match self.runs[..self.open].iter().position(takes) {
            Some(number) => (number, self.runs[number].as_mut().map(|run| run.add(message))),
            None if made_for.is_some() => (self.begin(Buf::copy_of(&message, 0)?), Some(Ok(Some(message)))),
            None => (self.begin(message), None),
        };
        // True if no message has followed since the previous message, which joined this run too.
        let in_a_row = self.before == (number, free);
        if in_a_row || made_for.is_none() {
            self.last = number;
        }
        self.before = (number, self.free());
        let spent = spent.transpose()?.flatten();
        if let (Some(made_for), Some(spent)) = (made_for, spent)
            && let Some(run) = &mut self.runs[made_for]
        {
            // The message was copied although it fits the run it was allocated for: so the layers above have
            // kept the message that was allocated there.
            self.offers = made_for != number && run.reclaim(spent)?;
        }
        if self.runs[number].as_ref().is_some_and(Run::is_full) {
            self.leaving = Leaving::One(number);
        } else if self.open == RUNS {
            self.leaving = Leaving::All;
        } else {
            self.offer(arena);
        }
        Ok(())
    }

    /// Returns the number of further messages that fit into the run `last`.
    fn free(&self) -> usize {
        self.runs[self.last].as_ref().map_or(0, Run::free)
    }

    /// Opens another run, and returns its number.
    fn begin(&mut self, message: Buf) -> usize {
        self.runs[self.open] = Some(Run::of(message));
        self.open += 1;
        self.open - 1
    }

    /// Offers the room behind the last message as memory for the next message.
    fn offer(&mut self, arena: &BurstArena) {
        if self.offers
            && let Some(room) = self.runs[self.last].as_mut().and_then(|run| run.room.take())
        {
            arena.offer(room);
            self.offered = true;
        }
    }

    /// Withdraws the offer. If a message was allocated there, returns the number of the run behind which it
    /// lies.
    fn withdraw(&mut self, arena: &BurstArena) -> Option<usize> {
        if !std::mem::take(&mut self.offered) {
            return None;
        }
        match (arena.take_back(), &mut self.runs[self.last]) {
            (Some(room), Some(run)) => {
                run.room = Some(room);
                None
            }
            _ => Some(self.last),
        }
    }
}

impl Burst for Runs {
    fn new() -> Self {
        let runs = from_fn(|_| None);
        Self {
            runs,
            open: 0,
            last: 0,
            before: (0, 0),
            leaving: Leaving::Nothing,
            offered: false,
            offers: true,
        }
    }

    #[inline]
    fn fill(
        &mut self,
        messages: &mut impl Iterator<Item = Buf>,
        arena: &BurstArena,
        mtu: usize,
    ) -> Result<Option<usize>, Error> {
        let mut filled = Ok(None);
        if self.leaving == Leaving::Nothing {
            self.offer(arena);
        }
        while self.leaving == Leaving::Nothing && filled.is_ok() {
            let Some(message) = self.follow(messages, arena) else { break };
            // A message that follows others has their length, so only the first has to be checked.
            if message.len() > mtu {
                filled = Ok(Some(message.len()));
                break;
            }
            filled = self.place(message, arena).map(|()| None);
        }
        self.withdraw(arena);
        filled
    }

    fn next_len(&self) -> Option<usize> {
        self.next().map(Run::segment)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::udp::run::{SEGMENT, SEGMENTS};
    use proptest::prelude::*;

    /// The way in which the layers above allocate a message.
    #[derive(Debug, Clone, Copy)]
    enum Make {
        Elsewhere,
        InTheArena,
        /// In a buffer that turns out to be too large.
        Shortened,
        /// With a header smaller than the reserved space.
        BehindAGap,
        /// In the arena, and then a second time elsewhere, since the layers keep the first message.
        Twice,
    }

    fn message(number: usize, length: usize, make: Make, arena: &BurstArena, kept: &mut Vec<Buf>) -> Buf {
        let header = length.min(4);
        let mut message = match make {
            Make::Elsewhere => Buf::new(length - header, header),
            Make::InTheArena | Make::Twice => arena.buffer(length - header, header),
            Make::Shortened => arena.buffer(length + 9, header),
            Make::BehindAGap => arena.buffer(length - header, header + 3),
        }
        .unwrap();
        message.truncate(length - header);
        message.prepend(header).unwrap();
        let bytes = (number as u32).to_le_bytes();
        message.iter_mut().zip(bytes).for_each(|(byte, value)| *byte = value);
        if let Make::Twice = make {
            let copy = Buf::copy_of(&message, 0).unwrap();
            kept.push(std::mem::replace(&mut message, copy));
        }
        message
    }

    /// Returns the datagrams that are sent, of one or more messages; at most `max` messages go at once.
    fn leave(lengths: &[(usize, Make)], max: usize) -> Vec<Vec<Vec<u8>>> {
        let (mut runs, mut left, mut kept, arena) = (Runs::new(), Vec::new(), Vec::new(), BurstArena::new());
        let mut messages = lengths
            .iter()
            .enumerate()
            .map(|(number, &(length, make))| message(number, length, make, &arena, &mut kept));
        loop {
            runs.fill(&mut messages, &arena, usize::MAX).unwrap();
            assert!(arena.take_back().is_none());
            if runs.next_len().is_none() {
                break;
            }
            let singles = runs.singles().map(|singles| singles.take(max).map(|single| vec![single.to_vec()]));
            if let Some(singles) = singles.map(Vec::from_iter) {
                runs.singles_have_left(singles.len());
                left.extend(singles);
            } else {
                let run = runs.next().unwrap();
                let count = run.count().min(max);
                let contents = &run.contents()[..count * run.segment()];
                let pieces = contents.chunks(run.segment().max(1)).map(<[u8]>::to_vec);
                left.push(if run.segment() == 0 { vec![vec![]] } else { pieces.collect() });
                runs.have_left(count);
            }
        }
        drop(messages);
        for message in kept {
            let number = u32::from_le_bytes(*message.first_chunk().unwrap());
            assert_eq!(message.len(), lengths[number as usize].0);
        }
        left
    }

    fn sizes(lengths: &[usize]) -> Vec<Vec<usize>> {
        let made = |make| lengths.iter().map(|&length| (length, make)).collect::<Vec<_>>();
        let [elsewhere, in_the_arena] = [Make::Elsewhere, Make::InTheArena].map(|make| {
            let left = leave(&made(make), usize::MAX);
            left.iter().map(|datagram| datagram.iter().map(Vec::len).collect()).collect::<Vec<_>>()
        });
        assert_eq!(elsewhere, in_the_arena);
        elsewhere
    }

    #[test]
    fn what_is_made_in_the_arena_stays_where_it_is() {
        let (mut runs, arena) = (Runs::new(), BurstArena::new());
        let mut places = Vec::new();
        let mut messages = (0..9).map(|number| {
            let made =
                message(number, if number == 4 { 7 } else { 20 }, Make::Shortened, &arena, &mut Vec::new());
            places.push(made.as_ptr() as usize);
            made
        });
        runs.fill(&mut messages, &arena, usize::MAX).unwrap();
        // The first message opens the run, the second is copied behind it. The fifth, of another length, is
        // taken out again, and the sixth is allocated in its place.
        assert_eq!([3, 5, 6, 7, 8].map(|number| places[number] - places[2]), [20, 40, 60, 80, 100]);
    }

    #[test]
    fn messages_of_one_length_go_together() {
        assert_eq!(sizes(&[5, 9, 5, 5, 9, 5]), [vec![9; 2], vec![5; 4]]);
        assert_eq!(sizes(&[5; 2 * SEGMENTS + 2]), [vec![5; SEGMENTS], vec![5; SEGMENTS], vec![5; 2]]);
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
            lengths in prop::collection::vec(
                (
                    prop_oneof![4..8_usize, 4..40_usize, Just(1400), Just(1500)],
                    prop_oneof![
                        1 => Just(Make::Elsewhere),
                        4 => Just(Make::InTheArena),
                        4 => Just(Make::Shortened),
                        1 => Just(Make::BehindAGap),
                        1 => Just(Make::Twice),
                    ],
                ),
                0..300,
            ),
            max in 1..70_usize,
        ) {
            let left = leave(&lengths, max).concat();
            let expected = lengths.iter().enumerate();
            let expected = expected.map(|(number, &(length, _))| (length, number as u32));
            let mut expected: Vec<_> = expected.collect();
            let mut sorted: Vec<_> = left
                .iter()
                .map(|message| (message.len(), u32::from_le_bytes(*message.first_chunk().unwrap())))
                .collect();
            // A stable sort keeps the order of messages of equal length.
            sorted.sort_by_key(|(length, _)| *length);
            expected.sort_by_key(|(length, _)| *length);
            prop_assert_eq!(sorted, expected);
        }
    }
}
