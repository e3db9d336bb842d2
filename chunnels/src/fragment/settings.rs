//! The settings of a connection.

use std::time::Duration;

/// Memory for the 4,096 pieces of 1,300 bytes, with records, that `Reliable` may deliver before an earlier
/// piece.
pub(super) const ASSEMBLY: usize = 8 << 20;

/// The settings that the methods of [`Fragment`](super::Fragment) choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FragmentSettings {
    /// The largest message.
    pub(super) limit: u32,
    /// The largest piece.
    pub(super) piece: usize,
    /// The memory for incomplete messages, besides three times the limit.
    pub(super) assembly: usize,
    /// The number of messages that may be incomplete at a time.
    pub(super) incomplete: usize,
    /// The time for which an incomplete message waits for its next piece.
    pub(super) expiry: Duration,
    /// The memory for incomplete messages of all connections.
    pub(super) memory: usize,
    /// True if the MTU of the path is discovered.
    pub(super) discovers_path: bool,
}

impl FragmentSettings {
    /// Returns the memory for incomplete messages of one connection: enough for the message that is being
    /// sent, an earlier message that lacks a piece, and records.
    pub(super) fn memory_of_one(&self) -> usize {
        3 * self.limit as usize + 64 * 1024 + self.assembly
    }
}

impl Default for FragmentSettings {
    fn default() -> Self {
        Self {
            limit: 64 * 1024 * 1024,
            piece: 1_300,
            assembly: ASSEMBLY,
            // The number is twice the number of messages that `Reliable` may deliver before a piece that it
            // has to repeat.
            incomplete: 8_192,
            // The time equals the time for fragments of IPv6 (RFC 8200, 4.5), and is longer than `Reliable`
            // waits for an acknowledgement.
            expiry: Duration::from_secs(60),
            memory: 1 << 30,
            discovers_path: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_what_the_documentation_says() {
        let settings = FragmentSettings::default();
        assert_eq!((settings.limit, settings.memory, settings.assembly), (64 << 20, 1 << 30, 8 << 20));
        let settings = FragmentSettings { limit: 1_000, assembly: 7, ..settings };
        assert_eq!(settings.memory_of_one(), 3_000 + 65_536 + 7);
    }
}
