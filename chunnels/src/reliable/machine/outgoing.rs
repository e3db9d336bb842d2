//! The messages to the peer.

use crate::reliable::wire::{Grant, size};
use bertha_core::Buf;
use std::collections::VecDeque;

/// The messages that are not acknowledged, in the order of their numbers.
#[derive(Debug)]
pub(super) struct Outgoing {
    /// Acknowledged messages stay as gaps until all messages before them are acknowledged.
    messages: VecDeque<Outstanding>,
    /// The number of the first.
    first: u64,
    /// The number of the first message that was never sent.
    unsent: u64,
    /// The number behind the message that was probed last.
    probed: u64,
    /// The messages to repeat, in the order in which they were found lost, without duplicates.
    lost: VecDeque<u64>,
    /// Messages that were taken to be repeated.
    repeated: u64,
    /// The bytes of all buffered messages.
    buffered: usize,
    /// The bytes of all messages ever pushed, and of those ever sent.
    pushed_bytes: u64,
    sent_bytes: u64,
    /// The messages and bytes that the peer has granted.
    grant: Grant,
    limits: BufferLimits,
}

/// The size of the buffer.
#[derive(Debug, Clone, Copy)]
pub(super) struct BufferLimits {
    pub(super) messages: usize,
    pub(super) bytes: usize,
}

#[derive(Debug)]
struct Outstanding {
    /// `None` once it is acknowledged.
    message: Option<Buf>,
    is_lost: bool,
}

/// Consecutive messages of one packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) first: u64,
    pub(super) count: u32,
    /// The bytes of the messages and their lengths in a packet.
    pub(super) size: usize,
}

impl Outgoing {
    pub(super) fn new(limits: BufferLimits, grant: Grant) -> Self {
        Self {
            messages: VecDeque::new(),
            first: 0,
            unsent: 0,
            probed: 0,
            lost: VecDeque::new(),
            repeated: 0,
            buffered: 0,
            pushed_bytes: 0,
            sent_bytes: 0,
            grant,
            limits,
        }
    }

    /// Returns true if a message of `len` bytes fits, where about `reach` bytes may wait unsent. A message larger than the buffer fits if
    /// the buffer is empty.
    pub(super) fn has_capacity(&self, len: usize, reach: u64) -> bool {
        self.messages.len() < self.limits.messages
            && (self.buffered == 0 || self.buffered + len <= self.limits.bytes)
            && self.pushed_bytes - self.sent_bytes < reach
    }

    pub(super) fn push(&mut self, message: Buf) {
        self.buffered += message.len();
        self.pushed_bytes += message.len() as u64;
        self.messages.push_back(Outstanding { message: Some(message), is_lost: false });
    }

    /// Returns the number of the next message, which is the number of messages so far.
    pub(super) fn next(&self) -> u64 {
        self.first + self.messages.len() as u64
    }

    /// Returns true if all messages are acknowledged.
    pub(super) fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the number of messages that the peer has not acknowledged; an acknowledged message counts until
    /// all messages before it are acknowledged.
    pub(super) fn unacknowledged(&self) -> usize {
        self.messages.len()
    }

    /// Returns the bytes of the messages that the peer has not acknowledged.
    pub(super) fn buffered(&self) -> usize {
        self.buffered
    }

    /// Returns the number of messages that were taken to be repeated so far.
    pub(super) fn repeated(&self) -> u64 {
        self.repeated
    }

    /// Returns true if a message waits that the peer's grant does not allow yet.
    pub(super) fn is_held_by_grant(&self) -> bool {
        self.outstanding(self.unsent).is_some() && self.may_send_next(self.sent_bytes).is_none()
    }

    /// Returns the number of buffered messages, with the gaps between them, and their bytes.
    #[cfg(test)]
    pub(super) fn kept(&self) -> (usize, usize) {
        let bytes = self.messages.iter().filter_map(|it| it.message.as_ref()).map(|it| it.len()).sum();
        assert_eq!(bytes, self.buffered);
        // Acknowledged ones stay until they are due; nothing new is sent before that.
        assert!(self.lost.len() <= self.limits.messages);
        (self.messages.len(), bytes)
    }

    /// Returns true if a message was never sent.
    pub(super) fn has_unsent(&self) -> bool {
        self.unsent != self.next()
    }

    /// Returns true if all messages were sent, and none is known to be lost.
    pub(super) fn is_sent(&self) -> bool {
        !self.has_unsent() && self.lost.is_empty()
    }

    /// Records a grant of the peer. A grant never shrinks.
    pub(super) fn on_grant(&mut self, grant: Grant) {
        self.grant.messages = self.grant.messages.max(grant.messages);
        self.grant.bytes = self.grant.bytes.max(grant.bytes);
    }

    /// Returns true if a message can be sent within the grant.
    pub(super) fn is_ready(&self) -> bool {
        !self.lost.is_empty() || self.may_send_next(self.sent_bytes).is_some()
    }

    /// Takes the messages of the next packet, lost messages first. The first message is taken in any case; more follow while
    /// all fit in `space`.
    pub(super) fn take(&mut self, space: usize) -> Option<Run> {
        self.take_lost(space).or_else(|| self.take_unsent(space))
    }

    fn take_lost(&mut self, space: usize) -> Option<Run> {
        let mut run: Option<Run> = None;
        while let Some(&number) = self.lost.front() {
            let Some((len, _)) = self.outstanding(number).filter(|(_, is_lost)| *is_lost) else {
                self.lost.pop_front();
                continue;
            };
            if !extend(&mut run, number, len, space) {
                break;
            }
            self.lost.pop_front();
            self.repeated += 1;
            self.mark_lost(number, false);
        }
        run
    }

    fn take_unsent(&mut self, space: usize) -> Option<Run> {
        let mut run = None;
        let mut sent_bytes = self.sent_bytes;
        while let Some(len) = self.may_send_next(sent_bytes) {
            if !extend(&mut run, self.unsent, len, space) {
                break;
            }
            sent_bytes += len as u64;
            self.unsent += 1;
        }
        self.sent_bytes = sent_bytes;
        run
    }

    /// Returns the length of the first message that was never sent, if there is one and the grant allows it after `sent_bytes`.
    fn may_send_next(&self, sent_bytes: u64) -> Option<usize> {
        let (len, _) = self.outstanding(self.unsent)?;
        (self.unsent < self.grant.messages && sent_bytes + len as u64 <= self.grant.bytes).then_some(len)
    }

    /// Returns a message that was sent and is not acknowledged, alone, to be repeated as a probe. All such messages have their turn, so that one
    /// which the path loses again and again holds up no other.
    pub(super) fn next_probe(&mut self) -> Option<Run> {
        let mut turns = (self.probed.max(self.first)..self.unsent).chain(self.first..self.unsent);
        let (number, len) = turns.find_map(|number| Some((number, self.outstanding(number)?.0)))?;
        self.probed = number + 1;
        self.repeated += 1;
        let mut run = None;
        extend(&mut run, number, len, 0);
        run
    }

    /// Returns the number and the length of the first message that was sent and is not acknowledged.
    pub(super) fn oldest(&self) -> Option<(u64, usize)> {
        let (len, _) = self.outstanding(self.first).filter(|_| self.first < self.unsent)?;
        Some((self.first, len))
    }

    /// Returns the messages of a run, without those acknowledged since it was taken.
    pub(super) fn contents(&self, run: Run) -> impl Iterator<Item = &[u8]> {
        let from = (run.first - self.first) as usize;
        let messages = self.messages.range(from..from + run.count as usize);
        messages.filter_map(|outstanding| outstanding.message.as_deref())
    }

    /// Takes in the acknowledgement of a packet with these messages.
    pub(super) fn on_ack(&mut self, first: u64, count: u32) {
        for number in first..first + u64::from(count) {
            let Some(outstanding) = self.get_mut(number) else { continue };
            outstanding.is_lost = false;
            if let Some(message) = outstanding.message.take() {
                self.buffered -= message.len();
            }
        }
        while self.messages.front().is_some_and(|front| front.message.is_none()) {
            self.messages.pop_front();
            self.first += 1;
        }
    }

    /// Takes in that a packet with these messages was lost, or was never built.
    pub(super) fn on_lost(&mut self, first: u64, count: u32) {
        for number in first..first + u64::from(count) {
            if self.outstanding(number).is_some_and(|(_, is_lost)| !is_lost) {
                self.mark_lost(number, true);
                self.lost.push_back(number);
            }
        }
    }

    /// Drops all messages, and reuses the numbers of those never sent: the peer no longer receives.
    pub(super) fn clear(&mut self) {
        self.first = self.unsent;
        self.messages.clear();
        self.lost.clear();
        (self.buffered, self.pushed_bytes) = (0, self.sent_bytes);
    }

    /// Returns the length of an unacknowledged message, and whether it waits to be repeated.
    fn outstanding(&self, number: u64) -> Option<(usize, bool)> {
        let outstanding = self.messages.get(usize::try_from(number.checked_sub(self.first)?).ok()?)?;
        Some((outstanding.message.as_ref()?.len(), outstanding.is_lost))
    }

    fn get_mut(&mut self, number: u64) -> Option<&mut Outstanding> {
        self.messages.get_mut(usize::try_from(number.checked_sub(self.first)?).ok()?)
    }

    fn mark_lost(&mut self, number: u64, is_lost: bool) {
        if let Some(outstanding) = self.get_mut(number) {
            outstanding.is_lost = is_lost;
        }
    }
}

/// Adds a message to `run`, if it is consecutive and fits.
fn extend(run: &mut Option<Run>, number: u64, len: usize, space: usize) -> bool {
    let size = size(len as u64) + len;
    match run {
        None => {
            *run = Some(Run { first: number, count: 1, size });
            true
        }
        Some(run) => {
            let fits = number == run.first + u64::from(run.count) && run.size + size <= space;
            if fits {
                run.count += 1;
                run.size += size;
            }
            fits
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLENTY: Grant = Grant { messages: 1000, bytes: 1_000_000 };

    fn holding(lens: &[usize], grant: Grant) -> Outgoing {
        let mut outgoing = Outgoing::new(BufferLimits { messages: 4, bytes: 1000 }, grant);
        lens.iter().for_each(|len| outgoing.push(Buf::new(*len, 0).unwrap()));
        outgoing
    }

    fn taken(outgoing: &mut Outgoing, space: usize) -> Option<(u64, u32)> {
        outgoing.take(space).map(|run| (run.first, run.count))
    }

    #[test]
    fn runs_are_as_long_as_fits_and_the_first_goes_anyway() {
        let mut outgoing = holding(&[10, 10, 50, 10], PLENTY);
        assert_eq!(taken(&mut outgoing, 30), Some((0, 2)));
        assert_eq!(taken(&mut outgoing, 30), Some((2, 1)));
        assert_eq!(taken(&mut outgoing, 30), Some((3, 1)));
        assert_eq!(taken(&mut outgoing, 30), None);
        assert!(outgoing.is_sent() && !outgoing.is_empty());
    }

    #[test]
    fn what_is_lost_goes_again_in_runs_and_before_all_else() {
        let mut outgoing = holding(&[1, 1, 1, 1], PLENTY);
        assert_eq!(taken(&mut outgoing, 6), Some((0, 3)));
        outgoing.on_ack(1, 1);
        outgoing.on_lost(0, 3);
        outgoing.on_lost(0, 3);
        assert!(!outgoing.is_sent());
        assert_eq!(taken(&mut outgoing, 100), Some((0, 1)));
        // A late acknowledgement saves the second.
        outgoing.on_ack(2, 1);
        assert_eq!(taken(&mut outgoing, 100), Some((3, 1)));
        outgoing.on_ack(0, 1);
        outgoing.on_ack(3, 1);
        assert!(outgoing.is_empty());
        assert_eq!(outgoing.next(), 4);
    }

    #[test]
    fn the_grant_is_kept_for_what_is_new() {
        let mut outgoing = holding(&[10, 10, 10], Grant { messages: 2, bytes: 15 });
        assert_eq!(taken(&mut outgoing, 100), Some((0, 1)));
        assert!(!outgoing.is_ready());
        outgoing.on_lost(0, 1);
        assert_eq!(taken(&mut outgoing, 100), Some((0, 1)));
        outgoing.on_grant(Grant { messages: 2, bytes: 100 });
        // A grant never shrinks.
        outgoing.on_grant(Grant { messages: 1, bytes: 1 });
        assert_eq!(taken(&mut outgoing, 100), Some((1, 1)));
        assert_eq!(taken(&mut outgoing, 100), None);
    }

    #[test]
    fn room_is_bounded_and_one_message_is_always_taken() {
        let outgoing = holding(&[900], PLENTY);
        assert!(outgoing.has_capacity(100, u64::MAX) && !outgoing.has_capacity(101, u64::MAX));
        assert!(holding(&[], PLENTY).has_capacity(5000, 1));
        assert!(!holding(&[1, 1, 1, 1], PLENTY).has_capacity(1, u64::MAX));
    }

    #[test]
    fn bytes_wait_unsent_up_to_the_reach() {
        let mut outgoing = holding(&[100, 100], PLENTY);
        assert!(!outgoing.has_capacity(1, 200) && outgoing.has_capacity(1, 201));
        assert_eq!(taken(&mut outgoing, 110), Some((0, 1)));
        assert!(!outgoing.has_capacity(1, 100) && outgoing.has_capacity(1, 101));
        outgoing.clear();
        assert!(outgoing.has_capacity(1, 1));
    }

    #[test]
    fn probes_take_turns_among_what_was_sent_and_is_not_acknowledged() {
        let mut outgoing = holding(&[10, 20, 30, 40], PLENTY);
        assert_eq!((outgoing.next_probe(), outgoing.oldest()), (None, None), "nothing was sent");
        assert_eq!(taken(&mut outgoing, 70), Some((0, 3)));
        assert_eq!(outgoing.oldest(), Some((0, 10)));
        outgoing.on_ack(1, 1);
        let probes = [(); 4].map(|()| outgoing.next_probe().map(|run| (run.first, run.count, run.size)));
        assert_eq!(probes, [(0, 11), (2, 31), (0, 11), (2, 31)].map(|(first, size)| Some((first, 1, size))));
        outgoing.on_ack(0, 1);
        assert_eq!((outgoing.oldest(), outgoing.next()), (Some((2, 30)), 4));
        let run = Run { first: 2, count: 1, size: 31 };
        assert!(outgoing.contents(run).map(<[u8]>::len).eq([30]));
        outgoing.on_ack(2, 1);
        assert_eq!((outgoing.oldest(), outgoing.next_probe()), (None, None));
    }

    #[test]
    fn numbers_of_messages_that_were_never_sent_are_used_again() {
        let mut outgoing = holding(&[10, 20, 30], PLENTY);
        assert_eq!(taken(&mut outgoing, 40), Some((0, 2)));
        outgoing.on_lost(0, 2);
        outgoing.clear();
        assert!(outgoing.is_empty() && outgoing.is_sent() && !outgoing.is_ready());
        assert_eq!((outgoing.next(), outgoing.kept(), outgoing.oldest()), (2, (0, 0), None));
        // Late acknowledgements and losses of messages that are gone.
        outgoing.on_ack(0, 2);
        outgoing.on_lost(0, 2);
        assert!(outgoing.is_sent());
    }

    #[test]
    fn a_run_ends_at_a_gap_and_at_the_last_byte_of_the_space() {
        let mut outgoing = holding(&[10, 10, 10], PLENTY);
        assert_eq!(taken(&mut outgoing, 22), Some((0, 2)));
        outgoing.on_lost(1, 1);
        outgoing.on_lost(0, 1);
        assert_eq!(taken(&mut outgoing, 100), Some((1, 1)));
        assert_eq!(taken(&mut outgoing, 100), Some((0, 1)));
        assert_eq!(taken(&mut outgoing, 100), Some((2, 1)));
    }
}
