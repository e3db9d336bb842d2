//! The settings of a connection.

/// Memory for the 4,096 pieces of 1,300 bytes, with records, that `Reliable` may deliver before an earlier one.
pub(super) const ASSEMBLY: usize = 8 << 20;

/// The settings that the methods of [`Fragment`](super::Fragment) choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Settings {
    /// The largest message.
    pub(super) limit: u32,
    /// The largest piece.
    pub(super) piece: usize,
    /// The memory for incomplete messages, besides three times the limit.
    pub(super) assembly: usize,
    /// Whether the MTU of the path is discovered.
    pub(super) discovers_path: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self { limit: 64 * 1024 * 1024, piece: 1_300, assembly: ASSEMBLY, discovers_path: false }
    }
}
