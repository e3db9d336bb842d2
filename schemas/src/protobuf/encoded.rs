//! A buffer that is filled from its end, so that lengths can be written behind what they count.

use super::{Fault, Wire};

/// The smallest buffer.
const SMALLEST: usize = 256;

/// A message that [`Plan::encode`](crate::Plan::encode) has encoded, in a buffer that later messages use again.
#[derive(Debug, Default)]
pub struct Encoded {
    /// The message, at the end.
    bytes: Vec<u8>,
    /// The beginning of the message.
    start: usize,
    /// The least beginning that the limit allows.
    floor: usize,
    limit: usize,
    /// The structures that are being encoded.
    pub(super) structures: Vec<u8>,
}

impl Encoded {
    /// Creates an empty buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the message.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[self.start..]
    }

    /// Drops the message, and allows one of so many bytes.
    pub(super) fn clear(&mut self, limit: usize) {
        self.structures.clear();
        self.start = self.bytes.len();
        self.floor = self.start.saturating_sub(limit);
        self.limit = limit;
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// Returns so many bytes in front of the message, with any content.
    #[inline]
    pub(super) fn space(&mut self, len: usize) -> Result<&mut [u8], Fault> {
        if self.start - self.floor < len {
            self.grow(len)?;
        }
        self.start -= len;
        Ok(&mut self.bytes[self.start..][..len])
    }

    #[cold]
    fn grow(&mut self, len: usize) -> Result<(), Fault> {
        let used = self.len();
        let needed =
            used.checked_add(len).filter(|needed| *needed <= self.limit).ok_or(Fault::Long(self.limit))?;
        let size = needed.max(2 * self.bytes.len()).max(SMALLEST).min(self.limit).max(self.bytes.len());
        let mut bytes = vec![0; size];
        bytes[size - used..].copy_from_slice(self.as_bytes());
        (self.start, self.floor) = (size - used, size.saturating_sub(self.limit));
        self.bytes = bytes;
        Ok(())
    }

    #[inline]
    pub(super) fn varint(&mut self, value: u64) -> Result<(), Fault> {
        if value < 0x80 {
            self.space(1)?[0] = value as u8;
            return Ok(());
        }
        self.long_varint(value)
    }

    fn long_varint(&mut self, mut value: u64) -> Result<(), Fault> {
        let len = value.ilog2() as usize / 7 + 1;
        let space = self.space(len)?;
        for byte in &mut *space {
            *byte = value as u8 | 0x80;
            value >>= 7;
        }
        space[len - 1] &= 0x7f;
        Ok(())
    }

    /// Writes a number as the wire has it.
    #[inline]
    pub(super) fn number(&mut self, wire: Wire, value: u64) -> Result<(), Fault> {
        match wire {
            Wire::Fixed32 => self.space(4)?.copy_from_slice(&(value as u32).to_le_bytes()),
            Wire::Fixed64 => self.space(8)?.copy_from_slice(&value.to_le_bytes()),
            _ => self.varint(value)?,
        }
        Ok(())
    }

    #[inline]
    pub(super) fn key(&mut self, field: u32, wire: Wire) -> Result<(), Fault> {
        self.varint(u64::from(field) << 3 | wire as u64)
    }
}
