//! The frames and messages that the datapath dropped, answered or copied.

use std::ops::AddAssign;

/// Counters of messages and frames that the datapath dropped, answered or copied. The port's own losses are
/// in [`PortStatistics`](crate::PortStatistics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Frames that the network stack dropped and answered.
    pub stack: bertha_netstack::Counters,
    /// Datagrams and segments to a closed port, or of strangers that found no place in the listener's backlog
    /// or lost it to later strangers.
    pub unknown: u64,
    /// Messages for a connection whose queue was full.
    pub overflow: u64,
    /// Frames that arrived in a queue and belonged to another queue whose ring was full.
    pub ring_full: u64,
    /// Messages that were copied when they were sent, since they lay in foreign memory, beside other messages
    /// or without room in front.
    pub copied: u64,
    /// Messages to neighbours that did not tell their hardware address, or not before too many such messages
    /// waited.
    pub unresolved: u64,
    /// Frames of the stack itself (requests, answers, errors) that the port did not take.
    pub not_sent: u64,
    /// Seconds in which the port was stuck: for three seconds or longer it had lost all arriving frames, had no buffer
    /// to receive into, or taken no frame to be sent. A message of the log names the port.
    pub stuck: u64,
}

impl Counters {
    /// Returns the number of all frames and messages that were dropped after the port had received them.
    pub fn dropped(&self) -> u64 {
        self.stack.dropped() + self.unknown + self.overflow + self.ring_full
    }
}

impl AddAssign for Counters {
    fn add_assign(&mut self, other: Self) {
        let Self { stack, unknown, overflow, ring_full, copied, unresolved, not_sent, stuck } = other;
        self.stack += stack;
        self.unknown += unknown;
        self.overflow += overflow;
        self.ring_full += ring_full;
        self.copied += copied;
        self.unresolved += unresolved;
        self.not_sent += not_sent;
        self.stuck += stuck;
    }
}

/// The frames that one of several queues received. The frames for its connections are the frames that arrived
/// in it and the frames handed to it, less the frames that it handed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct QueueCounters {
    /// Frames that the port put into the queue; zero if the port has no queue of this number.
    pub received: u64,
    /// Frames of other queues, which were handed to these queues or dropped since their rings were full.
    pub handed_on: u64,
    /// Frames that were handed to the queue, including frames that all queues overhear.
    pub taken_over: u64,
}
