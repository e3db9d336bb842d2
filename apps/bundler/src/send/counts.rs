//! The counts of the program around a sendbox.

/// The packets and messages that the sendbox does not see.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Number of packets without a header that can be read, which are dropped.
    pub(super) unreadable: u64,
    /// Number of packets that the system did not take back.
    pub(super) refused: u64,
    /// Number of messages to the receivebox that were not sent.
    pub(super) unsent: u64,
}
