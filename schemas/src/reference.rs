//! A reference to elements in a row.

/// A reference to text, bytes or repeated values, as it lies in memory.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reference {
    /// The address of the first element.
    pub(crate) at: u64,
    /// Number of elements.
    pub(crate) len: u32,
    /// Number of elements for which there is room.
    pub(crate) capacity: u32,
}

impl Reference {
    #[inline]
    pub(crate) fn read(bytes: &[u8]) -> Self {
        let (at, rest) = bytes.split_at(8);
        let (len, capacity) = rest.split_at(4);
        Self { at: word(at), len: word(len) as u32, capacity: word(capacity) as u32 }
    }

    #[inline]
    pub(crate) fn to_bytes(self) -> [u8; 16] {
        let sizes = u64::from(self.capacity) << 32 | u64::from(self.len);
        (u128::from(sizes) << 64 | u128::from(self.at)).to_le_bytes()
    }
}

/// Returns a number of up to eight bytes, little-endian.
#[inline]
pub(crate) fn word(bytes: &[u8]) -> u64 {
    match *bytes {
        [byte] => byte.into(),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]).into(),
        [a, b, c, d, e, f, g, h] => u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        _ => bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    }
}
