//! The checksums of a frame that arrives.

/// The port's verdict on a frame's checksums. The stack verifies those that the port says nothing about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Checksums {
    /// None was verified.
    Unknown,
    /// That of the IPv4 header is valid.
    Header,
    /// That of UDP is valid, or was left out since there is no wire: its field may hold anything.
    Payload,
    /// Both are valid.
    Good,
    /// One of them is wrong.
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
