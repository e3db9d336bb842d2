//! The packets that wait in a box.

use std::collections::VecDeque;

/// The order in which packets leave a box.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheduling {
    /// Packets leave in the order of their arrival.
    Fifo,
    /// Flows take turns, so that each flow sends as many bytes as any other (stochastic fair queueing,
    /// McKenney 1990, with the turns of deficit round robin, Shreedhar and Varghese 1995). There are 1,024
    /// turns; flows with colliding hashes share a turn.
    FairAmongFlows,
}

/// Number of turns of [`Scheduling::FairAmongFlows`].
const TURNS: usize = 1_024;

/// Number of bytes by which a turn lets a flow send more: a full packet.
const QUANTUM: u64 = 1_514;

pub(super) struct Packets<P> {
    queues: Vec<Queue<P>>,
    /// Numbers of the queues that hold packets, the next queue first.
    turns: VecDeque<usize>,
    bytes: u64,
    limit: u64,
}

struct Queue<P> {
    packets: VecDeque<(u64, P)>,
    bytes: u64,
    /// Number of bytes that the flow may send.
    credit: u64,
}

impl<P> Packets<P> {
    /// Creates a box without packets, and with room for `limit` bytes.
    pub(super) fn new(scheduling: Scheduling, limit: u64) -> Self {
        let count = match scheduling {
            Scheduling::Fifo => 1,
            Scheduling::FairAmongFlows => TURNS,
        };
        let queue = || Queue { packets: VecDeque::new(), bytes: 0, credit: 0 };
        let queues = std::iter::repeat_with(queue).take(count).collect();
        Self { queues, turns: VecDeque::new(), bytes: 0, limit }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Adds a packet, and returns the number of packets that were dropped: others for it, or the packet
    /// itself.
    pub(super) fn push(&mut self, flow: u64, len: u64, packet: P) -> usize {
        let number = (flow % self.queues.len() as u64) as usize;
        let mut dropped = 0;
        while self.bytes + len > self.limit {
            let longest = self.turns.iter().copied().max_by_key(|number| self.queues[*number].bytes);
            let victim = longest.filter(|longest| {
                *longest != number && self.queues[*longest].bytes >= self.queues[number].bytes + len
            });
            let Some(victim) = victim else { return dropped + 1 };
            self.drop_last(victim);
            dropped += 1;
        }
        let queue = &mut self.queues[number];
        if queue.packets.is_empty() {
            queue.credit = QUANTUM;
            self.turns.push_back(number);
        }
        queue.packets.push_back((len, packet));
        queue.bytes += len;
        self.bytes += len;
        dropped
    }

    /// Removes and returns the next packet, with its length.
    pub(super) fn pop(&mut self) -> Option<(u64, P)> {
        loop {
            let number = *self.turns.front()?;
            let queue = &mut self.queues[number];
            let credit = queue.credit;
            if let Some((len, packet)) = queue.packets.pop_front_if(|(len, _)| *len <= credit) {
                queue.credit -= len;
                queue.bytes -= len;
                self.bytes -= len;
                if queue.packets.is_empty() {
                    self.turns.pop_front();
                }
                return Some((len, packet));
            }
            queue.credit += QUANTUM;
            self.turns.rotate_left(1);
        }
    }

    fn drop_last(&mut self, number: usize) {
        let queue = &mut self.queues[number];
        if let Some((len, _)) = queue.packets.pop_back() {
            queue.bytes -= len;
            self.bytes -= len;
        }
        if queue.packets.is_empty() {
            self.turns.retain(|turn| *turn != number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(packets: &mut Packets<char>) -> String {
        std::iter::from_fn(|| packets.pop()).map(|(_, packet)| packet).collect()
    }

    #[test]
    fn flows_take_turns_by_bytes() {
        let mut fair = Packets::new(Scheduling::FairAmongFlows, u64::MAX);
        (0..6).for_each(|_| assert_eq!(fair.push(1, 1_514, 'a'), 0));
        (0..4).for_each(|_| assert_eq!(fair.push(2, 757, 'b'), 0));
        assert_eq!(fair.push(3, 4_000, 'c'), 0);
        assert_eq!(drained(&mut fair), "abbabbacaaa");
        assert_eq!(fair.bytes(), 0);

        let mut fifo = Packets::new(Scheduling::Fifo, u64::MAX);
        for (flow, packet) in [(1, 'a'), (1, 'a'), (2, 'b'), (1, 'a')] {
            fifo.push(flow, 1_000, packet);
        }
        assert_eq!(drained(&mut fifo), "aaba");
    }

    #[test]
    fn the_flow_with_the_most_loses_its_last_packet() {
        let mut fair = Packets::new(Scheduling::FairAmongFlows, 4_000);
        for packet in ['1', '2', '3'] {
            assert_eq!(fair.push(1, 1_000, packet), 0);
        }
        assert_eq!(fair.push(2, 1_000, 'a'), 0);
        assert_eq!(fair.push(1, 1_000, '4'), 1, "it is the one with the most");
        assert_eq!(fair.push(2, 1_000, 'b'), 1, "the other one loses 3");
        assert_eq!(fair.push(3, 5_000, 'x'), 1, "no flow has as much");
        assert_eq!(drained(&mut fair), "1a2b");
        let mut fair = Packets::new(Scheduling::Fifo, 2_000);
        assert_eq!([1, 2, 3].map(|flow| fair.push(flow, 1_000, 'p')), [0, 0, 1]);
    }
}
