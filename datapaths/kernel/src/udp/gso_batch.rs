//! A burst on its way into the kernel: messages of equal length leave in a segmented datagram.

use crate::datagram::Burst;
use arrayvec::ArrayVec;
use bertha_core::Buf;
use bertha_core::buf::RecycledBufs;
use std::io::IoSlice;

/// Longest message that leaves in a segmented datagram: the payload of UDP over IPv6 in an Ethernet frame.
/// Segments can't be fragmented, so on a path with a smaller MTU segmentation fails, and is given up for the
/// connection.
const SEGMENT: usize = 1500 - 40 - 8;

/// Maximum number of messages in a segmented datagram: the limit of Linux since 6.10. Earlier kernels take
/// half as many.
pub(super) const SEGMENTS: usize = 128;

/// Maximum number of bytes in a datagram over IPv4.
const CONTENTS: usize = 65_535 - 20 - 8;

/// The messages of a burst that were taken and not sent yet.
///
/// Messages of equal length leave together, as a [run](Self::run). So messages of different lengths may
/// overtake each other within a batch, and messages of equal length don't. Sending at each change of length
/// would keep the order, at the price of a call and a way through the network stack for every few messages:
/// where replies to reads and to writes alternate, a third of the throughput would be left.
#[derive(Debug)]
pub struct GsoBatch {
    messages: ArrayVec<Buf, SEGMENTS>,
    /// True if no two of the messages make a run, so that they need not be compared again.
    is_unequal: bool,
}

impl GsoBatch {
    /// Returns the length of the messages of the next run: the first length that at least two messages have
    /// and that fits into a segment. Returns `None` if all messages have to be sent one by one.
    pub(super) fn segment(&mut self) -> Option<u16> {
        let mut rest = &self.messages[..];
        while !self.is_unequal
            && let Some((first, behind)) = rest.split_first()
        {
            let len = first.len();
            if (1..=SEGMENT).contains(&len) && behind.iter().any(|message| message.len() == len) {
                return u16::try_from(len).ok();
            }
            rest = behind;
        }
        self.is_unequal = true;
        None
    }

    /// Returns the next run: the first messages of `segment` bytes, at most `most`, which the kernel takes as
    /// a single datagram and cuts into segments on the way. The messages stay where they are: the kernel
    /// gathers them.
    pub(super) fn run(&self, segment: u16, most: usize) -> ArrayVec<IoSlice<'_>, SEGMENTS> {
        let segment = usize::from(segment);
        let most = most.min(SEGMENTS).min(CONTENTS / segment.max(1));
        let equal = self.messages.iter().filter(|message| message.len() == segment);
        equal.take(most).map(|message| IoSlice::new(message)).collect()
    }

    /// Removes the first `count` messages of `segment` bytes, which were sent.
    pub(super) fn run_has_left(&mut self, segment: u16, mut count: usize) {
        if count == self.messages.len() {
            return self.first_have_left(count);
        }
        self.messages.retain(|message| {
            let was_sent = count > 0 && message.len() == usize::from(segment);
            count -= usize::from(was_sent);
            !was_sent
        });
    }

    /// Returns the messages in the order in which they were taken.
    pub(super) fn messages(&self) -> &[Buf] {
        &self.messages
    }

    /// Removes the first `count` messages, which were sent.
    pub(super) fn first_have_left(&mut self, count: usize) {
        let mut spent = RecycledBufs::new();
        self.messages.drain(..count.min(self.messages.len())).for_each(|message| spent.add(message));
    }
}

impl Burst for GsoBatch {
    fn new() -> Self {
        Self { messages: ArrayVec::new(), is_unequal: false }
    }

    /// Takes messages once all messages of the last filling have left, so that no message is overtaken by
    /// more than a batch.
    #[inline]
    fn fill(&mut self, messages: &mut impl Iterator<Item = Buf>, mtu: usize) -> Option<usize> {
        let mut oversize = None;
        if self.messages.is_empty() {
            self.is_unequal = false;
            let fitting = messages.map_while(|message| {
                oversize = Some(message.len()).filter(|len| *len > mtu);
                oversize.is_none().then_some(message)
            });
            self.messages.extend(fitting.take(SEGMENTS));
        }
        oversize
    }

    fn next_len(&self) -> Option<usize> {
        self.messages.first().map(|message| message.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the messages that are sent at once, of a batch of messages of these lengths. A run has at most
    /// `segments` messages, and a call that sends messages one by one sends `singles`.
    fn leave(lengths: &[usize], segments: usize, singles: usize) -> Vec<Vec<Vec<u8>>> {
        let (mut batch, mut left) = (GsoBatch::new(), Vec::new());
        let mut messages = lengths.iter().enumerate().map(|(number, &length)| {
            let mut message = Buf::new(length, 0).unwrap();
            let bytes = (number as u32).to_le_bytes();
            message.iter_mut().zip(bytes).for_each(|(byte, value)| *byte = value);
            message
        });
        loop {
            assert_eq!(batch.fill(&mut messages, usize::MAX), None);
            if batch.next_len().is_none() {
                return left;
            }
            if let Some(segment) = batch.segment() {
                let run = batch.run(segment, segments);
                let sent: Vec<_> = run.iter().map(|message| message.to_vec()).collect();
                drop(run);
                batch.run_has_left(segment, sent.len());
                left.push(sent);
            } else {
                let sent: Vec<_> = batch.messages().iter().take(singles).map(|m| m.to_vec()).collect();
                batch.first_have_left(sent.len());
                left.extend(sent.into_iter().map(|message| vec![message]));
            }
        }
    }

    fn sizes(lengths: &[usize]) -> Vec<Vec<usize>> {
        let left = leave(lengths, SEGMENTS, 32);
        left.iter().map(|messages| messages.iter().map(Vec::len).collect()).collect()
    }

    #[test]
    fn messages_of_one_length_go_together() {
        assert_eq!(sizes(&[5, 9, 5, 5, 9, 5]), [vec![5; 4], vec![9; 2]]);
        assert_eq!(sizes(&[5; 2 * SEGMENTS + 2]), [vec![5; SEGMENTS], vec![5; SEGMENTS], vec![5; 2]]);
        assert_eq!(sizes(&[5]), [[5]]);
        assert!(sizes(&[]).is_empty());
    }

    #[test]
    fn a_run_is_no_longer_than_a_datagram() {
        assert_eq!(sizes(&[1400; 50]), [vec![1400; 46], vec![1400; 4]]);
        assert_eq!(leave(&[1; 5], 3, 1).iter().map(Vec::len).collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn messages_that_are_no_segments_leave_one_by_one() {
        assert_eq!(sizes(&[7, SEGMENT + 1, 0, 7]), [vec![7; 2], vec![SEGMENT + 1], vec![0]]);
        assert_eq!(sizes(&[0, 0]), [[0], [0]]);
        assert_eq!(sizes(&[SEGMENT + 1; 2]), [[SEGMENT + 1], [SEGMENT + 1]]);
        assert_eq!(sizes(&[SEGMENT; 2]), [[SEGMENT, SEGMENT]]);
    }

    #[test]
    fn messages_of_different_lengths_leave_one_by_one_in_their_order() {
        let lengths: Vec<_> = (1..=300).collect();
        assert_eq!(sizes(&lengths).concat(), lengths);
    }

    #[test]
    fn no_message_is_taken_behind_a_message_that_is_too_long() {
        let mut batch = GsoBatch::new();
        let mut messages = [3, 4, 5, 3].into_iter().map(|length| Buf::new(length, 0).unwrap());
        assert_eq!(batch.fill(&mut messages, 4), Some(5));
        assert_eq!(batch.messages().iter().map(|message| message.len()).collect::<Vec<_>>(), [3, 4]);
        assert_eq!(messages.next().map(|message| message.len()), Some(3));
    }

    proptest! {
        #[test]
        fn everything_leaves_once_and_in_order_within_one_length(
            lengths in prop::collection::vec(
                prop_oneof![4..8_usize, 4..40_usize, Just(1400), Just(1500)],
                0..400,
            ),
            segments in 2..=SEGMENTS,
            singles in 1..40_usize,
        ) {
            let left = leave(&lengths, segments, singles).concat();
            let expected = lengths.iter().enumerate();
            let mut expected: Vec<_> = expected.map(|(number, &length)| (length, number as u32)).collect();
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
