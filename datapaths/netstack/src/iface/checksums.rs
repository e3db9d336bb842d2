//! The checksums of an arriving frame.

/// The port's verdict on a frame's checksums. The stack verifies the checksums about which the port says
/// nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// No checksum was verified.
    Unknown,
    /// The checksum of the IPv4 header is valid.
    Header,
    /// The checksum of UDP is valid, or was left out since there is no wire: its field may hold anything.
    Payload,
    /// Both checksums are valid.
    Good,
    /// At least one checksum is wrong.
    Bad,
}

impl Checksums {
    #[inline]
    pub(crate) fn header(self) -> bool {
        matches!(self, Self::Header | Self::Good)
    }

    #[inline]
    pub(crate) fn payload(self) -> bool {
        matches!(self, Self::Payload | Self::Good)
    }
}
