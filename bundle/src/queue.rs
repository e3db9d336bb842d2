//! The packets that wait in a box.

use crate::Header;
use crate::scheduling::Scheduling;
use std::collections::VecDeque;

/// Number of bytes by which a turn lets a flow send more: a full packet.
const QUANTUM: u64 = 1_514;

/// Largest number of waiting packets, of any length.
const MAX_PACKETS: usize = 1 << 18;

/// A packet that waits.
#[derive(Debug)]
pub(crate) struct Waiting<P> {
    pub(crate) len: u64,
    /// The hash that decides if the packet is a boundary, if it can be one.
    pub(crate) hash: Option<u64>,
    pub(crate) packet: P,
}

#[derive(Debug)]
pub(crate) struct Queues<P> {
    scheduling: Scheduling,
    queues: Vec<Queue<P>>,
    /// Numbers of the queues that hold packets: the next turn first, or the highest class first.
    turns: VecDeque<usize>,
    packets: usize,
    bytes: u64,
    limit: u64,
}

#[derive(Debug)]
struct Queue<P> {
    packets: VecDeque<Waiting<P>>,
    bytes: u64,
    /// Number of bytes that the flow may send.
    credit: u64,
}

impl<P> Queues<P> {
    /// Creates queues without packets, and with room for `limit` bytes.
    pub(crate) fn new(scheduling: Scheduling, limit: u64) -> Self {
        let queue = || Queue { packets: VecDeque::new(), bytes: 0, credit: 0 };
        let queues = std::iter::repeat_with(queue).take(scheduling.queues()).collect();
        Self { scheduling, queues, turns: VecDeque::new(), packets: 0, bytes: 0, limit }
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn packets(&self) -> usize {
        self.packets
    }

    /// Adds a packet, and returns the number of packets that were dropped: others for it, or the packet
    /// itself.
    pub(crate) fn push(&mut self, header: &Header, waiting: Waiting<P>) -> usize {
        let number = self.scheduling.queue(header);
        let len = waiting.len;
        let mut dropped = 0;
        while self.bytes + len > self.limit || self.packets >= MAX_PACKETS {
            let Some(victim) = self.victim(number, len) else { return dropped + 1 };
            self.drop_last(victim);
            dropped += 1;
        }
        let is_strict = self.scheduling.is_strict();
        let Some(queue) = self.queues.get_mut(number) else { return dropped + 1 };
        if queue.packets.is_empty() {
            queue.credit = QUANTUM;
            let at = if is_strict {
                self.turns.partition_point(|other| *other < number)
            } else {
                self.turns.len()
            };
            self.turns.insert(at, number);
        }
        queue.packets.push_back(waiting);
        queue.bytes += len;
        self.bytes += len;
        self.packets += 1;
        dropped
    }

    /// Removes and returns the next packet.
    pub(crate) fn pop(&mut self) -> Option<Waiting<P>> {
        let is_strict = self.scheduling.is_strict();
        loop {
            let queue = self.queues.get_mut(*self.turns.front()?)?;
            let credit = if is_strict { u64::MAX } else { queue.credit };
            if let Some(waiting) = queue.packets.pop_front_if(|waiting| waiting.len <= credit) {
                queue.credit = queue.credit.saturating_sub(waiting.len);
                queue.bytes -= waiting.len;
                self.bytes -= waiting.len;
                self.packets -= 1;
                if queue.packets.is_empty() {
                    self.turns.pop_front();
                }
                return Some(waiting);
            }
            queue.credit += QUANTUM;
            self.turns.rotate_left(1);
        }
    }

    /// Returns the queue that loses a packet for a new one of `len` bytes in queue `number`: of flows the one
    /// with the most bytes, of classes the lowest. It is `None` if this is the new packet's own queue.
    fn victim(&self, number: usize, len: u64) -> Option<usize> {
        if self.scheduling.is_strict() {
            return self.turns.back().copied().filter(|lowest| *lowest > number);
        }
        let bytes = |number: usize| self.queues.get(number).map_or(0, |queue| queue.bytes);
        let longest = self.turns.iter().copied().max_by_key(|number| bytes(*number))?;
        (longest != number && bytes(longest) >= bytes(number) + len).then_some(longest)
    }

    fn drop_last(&mut self, number: usize) {
        let Some(queue) = self.queues.get_mut(number) else { return };
        if let Some(waiting) = queue.packets.pop_back() {
            queue.bytes -= waiting.len;
            self.bytes -= waiting.len;
            self.packets -= 1;
        }
        if queue.packets.is_empty() {
            self.turns.retain(|turn| *turn != number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Priorities;

    fn push(queues: &mut Queues<char>, flow: u8, len: u64, packet: char) -> usize {
        let header = Header {
            len: len as u32,
            source: ([10, 0, 0, flow], 1_000 + u16::from(flow)).into(),
            destination: ([10, 1, 0, 1], 80).into(),
            protocol: 6,
            dscp: flow << 3,
            identity: None,
        };
        queues.push(&header, Waiting { len, hash: None, packet })
    }

    fn drained(queues: &mut Queues<char>) -> String {
        let drained = std::iter::from_fn(|| queues.pop()).map(|waiting| waiting.packet).collect();
        assert_eq!((queues.bytes(), queues.packets()), (0, 0));
        drained
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let mut fair = Queues::new(Scheduling::FairAmongFlows, u64::MAX);
        (0..6).for_each(|_| assert_eq!(push(&mut fair, 1, 1_514, 'a'), 0));
        (0..4).for_each(|_| assert_eq!(push(&mut fair, 2, 757, 'b'), 0));
        assert_eq!(push(&mut fair, 3, 4_000, 'c'), 0);
        assert_eq!(drained(&mut fair), "abbabbacaaa");

        let mut fifo = Queues::new(Scheduling::Fifo, u64::MAX);
        for (flow, packet) in [(1, 'a'), (1, 'a'), (2, 'b'), (1, 'a')] {
            push(&mut fifo, flow, 1_000, packet);
        }
        assert_eq!(drained(&mut fifo), "aaba");
    }

    #[test]
    fn the_flow_with_the_most_loses_its_last_packet() {
        let mut fair = Queues::new(Scheduling::FairAmongFlows, 4_000);
        for packet in ['1', '2', '3'] {
            assert_eq!(push(&mut fair, 1, 1_000, packet), 0);
        }
        assert_eq!(push(&mut fair, 2, 1_000, 'a'), 0);
        assert_eq!(push(&mut fair, 1, 1_000, '4'), 1, "it is the one with the most");
        assert_eq!(push(&mut fair, 2, 1_000, 'b'), 1, "the other one loses 3");
        assert_eq!(push(&mut fair, 3, 5_000, 'x'), 1, "no flow has as much");
        assert_eq!(drained(&mut fair), "1a2b");
        let mut fifo = Queues::new(Scheduling::Fifo, 2_000);
        assert_eq!([1, 2, 3].map(|flow| push(&mut fifo, flow, 1_000, 'p')), [0, 0, 1]);
    }

    #[test]
    fn the_highest_class_leaves_first_and_the_lowest_class_makes_room() {
        let by_code_point = Scheduling::Priority(Priorities::CodePoints);
        let by_port = Scheduling::Priority(Priorities::Ports(vec![1_003, 1_001]));
        for (scheduling, expected) in [(by_code_point, "3d2b1a"), (by_port, "3d1a2b")] {
            let mut strict = Queues::new(scheduling.clone(), 60_000);
            for (flow, packet) in [(1, '1'), (2, '2'), (3, '3'), (1, 'a'), (2, 'b'), (3, 'd')] {
                assert_eq!(push(&mut strict, flow, 10_000, packet), 0);
            }
            assert_eq!(push(&mut strict, 0, 1_000, 'x'), 1, "it is of the lowest class");
            assert_eq!(drained(&mut strict), expected, "{scheduling:?}");
        }
        let mut strict = Queues::new(Scheduling::Priority(Priorities::CodePoints), 3_000);
        (0..3).for_each(|_| assert_eq!(push(&mut strict, 0, 1_000, 'l'), 0));
        assert_eq!(push(&mut strict, 7, 2_000, 'h'), 2);
        assert_eq!(drained(&mut strict), "hl");
    }
}
