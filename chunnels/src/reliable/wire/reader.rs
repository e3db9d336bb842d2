//! The reading of a packet from its start.

use super::varint;

/// The unread rest of a packet. Every method returns `None` where it ends too early.
pub(super) struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    pub(super) fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    pub(super) fn varint(&mut self) -> Option<u64> {
        let (number, size) = varint::decode(self.bytes.get(self.at..)?)?;
        self.at += size;
        Some(number)
    }

    /// Returns the number of bytes read.
    pub(super) fn position(&self) -> usize {
        self.at
    }
}
