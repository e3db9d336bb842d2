//! Counters of the messages that a socket dropped.

/// Messages that a listener received and could not deliver to a connection. No other message is dropped after
/// the kernel returned it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// Messages from addresses that were not accepted yet, and had to give way to later messages: the allowed
    /// number of connections or bytes was waiting.
    pub unknown: u64,
    /// Messages for a connection whose queue was full, since no task received from it.
    pub overflow: u64,
    /// Messages longer than the datapath carries.
    pub oversize: u64,
    /// Errors of the socket that concern a single peer.
    pub errors: u64,
}

impl Counters {
    /// Returns the number of all dropped messages.
    pub fn dropped(&self) -> u64 {
        self.unknown + self.overflow + self.oversize
    }
}
