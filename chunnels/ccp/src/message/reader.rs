//! The reading of a body from its start.

use super::Malformed;

/// The unread rest of a body.
pub(super) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn new(body: &'a [u8]) -> Self {
        Self(body)
    }

    pub(super) fn take<const N: usize>(&mut self) -> Result<[u8; N], Malformed> {
        let (taken, rest) = self.0.split_first_chunk().ok_or(Malformed::Truncated)?;
        self.0 = rest;
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, Malformed> {
        self.take().map(u8::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, Malformed> {
        self.take().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, Malformed> {
        self.take().map(u64::from_le_bytes)
    }

    /// Reads a number of items, of which at most `limit` are allowed.
    pub(super) fn count(&mut self, what: &'static str, limit: usize) -> Result<usize, Malformed> {
        let count = self.u32()?;
        match usize::try_from(count) {
            Ok(fits) if fits <= limit => Ok(fits),
            _ => Err(Malformed::TooMany { what, count }),
        }
    }

    /// Checks that at least `count` items of `size` bytes each are left, so that nothing is allocated for
    /// items that did not arrive.
    pub(super) fn holds(&self, count: usize, size: usize) -> Result<(), Malformed> {
        if self.0.len() >= count * size { Ok(()) } else { Err(Malformed::Truncated) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
