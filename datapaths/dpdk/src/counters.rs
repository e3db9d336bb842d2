//! What the datapath dropped.

/// Messages and frames that the datapath dropped, answered or copied. The port's own losses are in
/// [`PortStatistics`](crate::PortStatistics).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// What the network stack dropped and answered.
    pub stack: bertha_netstack::Counters,
    /// Datagrams and segments to a port at which nobody listens, or from a stranger while as many as allowed were waiting to
    /// be accepted.
    pub unknown: u64,
    /// Messages for a connection whose queue was full, since nobody received from it.
    pub overflow: u64,
    /// Messages that were copied on their way out, since they lay in foreign memory, beside others or without room in front.
    pub copied: u64,
    /// Frames of the stack's own (requests, answers, errors) that the port did not take.
    pub not_sent: u64,
}

impl Counters {
    /// All that was dropped after the port had received it.
    pub fn dropped(&self) -> u64 {
        self.stack.dropped() + self.unknown + self.overflow
    }
}
