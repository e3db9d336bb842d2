//! Marks for congestion on datagrams.

/// The datagrams that arrived with a mark for congestion, which routers set instead of dropping the datagram
/// (RFC 3168). See [`Base::set_ecn`](crate::Base::set_ecn).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EcnMarks {
    /// The number of datagrams.
    pub datagrams: u64,
    /// The number of bytes in the datagrams, without the headers of the datapath.
    pub bytes: u64,
}

impl EcnMarks {
    /// Returns the marks since `earlier`.
    #[must_use]
    pub fn since(self, earlier: Self) -> Self {
        Self {
            datagrams: self.datagrams.saturating_sub(earlier.datagrams),
            bytes: self.bytes.saturating_sub(earlier.bytes),
        }
    }

    /// Adds `datagrams` datagrams with `bytes` bytes in total.
    pub fn add(&mut self, datagrams: u64, bytes: u64) {
        self.datagrams = self.datagrams.saturating_add(datagrams);
        self.bytes = self.bytes.saturating_add(bytes);
    }
}
