//! The messages that a socket dropped.

/// Messages that a listener received and could not hand to a connection. Nothing else is ever dropped after the
/// kernel gave it to us.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct Counters {
    /// From addresses that were not accepted yet, and had to give way to later ones: as many connections or bytes as allowed were
    /// waiting.
    pub unknown: u64,
    /// For a connection whose queue was full, since no task received from it.
    pub overflow: u64,
    /// Longer than the datapath carries.
    pub oversize: u64,
    /// Errors of the socket that concern a single peer.
    pub errors: u64,
}

impl Counters {
    /// All that was dropped.
    pub fn dropped(&self) -> u64 {
        self.unknown + self.overflow + self.oversize
    }
}
