//! Figures of a connection.

/// Figures of a connection, since it was made.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Figures {
    /// Number of messages that calls have sent.
    pub sent_messages: u64,
    /// Bytes of messages that calls have sent.
    pub sent_bytes: u64,
    /// Number of messages that calls have received.
    pub received_messages: u64,
    /// Bytes of messages that calls have received.
    pub received_bytes: u64,
    /// Number of messages that arrived damaged, late or forged, and were dropped.
    pub dropped: u64,
    /// Number of dropped messages that lacked the proof that they needed.
    pub forged: u64,
    /// Length of the longest message that the connection carries, in bytes.
    pub longest_message: u64,
}
