//! Memory of this process.

use crate::native::FIRST;
use crate::{Frame, Memory, NoRoom, Outside, Room};

/// Memory of this process alone, of which messages take parts one after another until all are dropped at once.
///
/// [Headroom](Self::HEADROOM) lies in front of the parts, where a sender of the memory has room for its headers.
///
/// # Example
/// ```
/// use bertha_schemas::{Memory, PrivateMemory, Room};
///
/// let mut memory = PrivateMemory::of(1 << 20);
/// let at = memory.reserve(2)?;
/// memory.bytes(at, 2).copy_from_slice(b"ab");
/// let mut read = [0; 2];
/// memory.read(at, &mut read)?;
/// assert_eq!(&read, b"ab");
/// memory.clear();
/// assert!(memory.read(at, &mut read).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PrivateMemory {
    /// The headroom, and the parts behind it.
    bytes: Vec<u8>,
    /// Number of bytes of the longest memory.
    longest: usize,
}

impl PrivateMemory {
    /// Number of bytes in front of the reserved ones.
    pub const HEADROOM: usize = 64;

    /// Creates memory of which so many bytes may be reserved.
    pub fn of(capacity: usize) -> Self {
        Self { bytes: vec![0; Self::HEADROOM], longest: capacity.saturating_add(Self::HEADROOM) }
    }

    /// Returns the number of reserved bytes.
    pub fn used(&self) -> usize {
        self.as_bytes().len()
    }

    /// Returns the reserved bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[Self::HEADROOM..]
    }

    /// Drops everything that was reserved. The memory stays allocated for later messages.
    pub fn clear(&mut self) {
        self.bytes.truncate(Self::HEADROOM);
    }

    /// Changes how many bytes may be reserved. What was reserved stays.
    pub fn bound(&mut self, capacity: usize) {
        self.longest = capacity.saturating_add(Self::HEADROOM);
    }

    /// Returns reserved bytes.
    ///
    /// # Panics
    /// Panics if the bytes were not reserved.
    #[inline]
    pub(crate) fn slice(&self, at: u64, len: usize) -> &[u8] {
        &self.bytes[Self::place(at)..][..len]
    }

    #[inline]
    fn place(at: u64) -> usize {
        at.wrapping_sub(FIRST - Self::HEADROOM as u64) as usize
    }

    /// Returns the address of what is reserved next.
    #[inline]
    fn next(&self) -> u64 {
        FIRST + self.used() as u64
    }

    /// Returns the length of the memory with so many bytes more, which begin at a multiple of eight.
    fn with(&self, bytes: usize) -> Result<usize, NoRoom> {
        let end = bytes.checked_next_multiple_of(8).and_then(|bytes| bytes.checked_add(self.bytes.len()));
        end.filter(|end| *end <= self.longest).ok_or(NoRoom)
    }
}

impl AsMut<[u8]> for PrivateMemory {
    /// Returns the headroom with the reserved bytes behind it.
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }
}

impl Memory for PrivateMemory {
    #[inline]
    fn read(&self, at: u64, into: &mut [u8]) -> Result<(), Outside> {
        Frame::of(self.as_bytes()).read(at, into)
    }
}

impl Room for PrivateMemory {
    #[inline]
    fn reserve(&mut self, bytes: usize) -> Result<u64, NoRoom> {
        let (at, end) = (self.next(), self.with(bytes)?);
        self.bytes.resize(end, 0);
        Ok(at)
    }

    /// # Panics
    /// Panics if the bytes were not reserved.
    #[inline]
    fn bytes(&mut self, at: u64, len: usize) -> &mut [u8] {
        &mut self.bytes[Self::place(at)..][..len]
    }

    #[inline]
    fn put(&mut self, bytes: &[u8]) -> Result<u64, NoRoom> {
        let (at, end) = (self.next(), self.with(bytes.len())?);
        self.bytes.extend_from_slice(bytes);
        self.bytes.resize(end, 0);
        Ok(at)
    }
}
