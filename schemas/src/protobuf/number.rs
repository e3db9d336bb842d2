//! Numbers in memory, and on the wire.

use super::Wire;
use crate::schema::Number;

impl Number {
    /// Returns how a value is encoded that is not in a row.
    #[inline]
    pub(super) fn wire(self) -> Wire {
        match self {
            Self::Fixed32 | Self::Sfixed32 | Self::Float => Wire::Fixed32,
            Self::Fixed64 | Self::Sfixed64 | Self::Double => Wire::Fixed64,
            _ => Wire::Varint,
        }
    }

    /// Returns what the wire has for a value in memory, whose bytes are those of `word` from the lowest on.
    #[inline]
    pub(super) fn encoded(self, word: u64) -> u64 {
        match self {
            Self::Bool => u64::from(word != 0),
            // Negative numbers have ten bytes for the sake of readers that expect 64 bits.
            Self::Int32 => i64::from(word as i32) as u64,
            Self::Sint32 => {
                let value = word as i32;
                u64::from((value << 1 ^ value >> 31) as u32)
            }
            Self::Sint64 => {
                let value = word as i64;
                (value << 1 ^ value >> 63) as u64
            }
            _ => word,
        }
    }

    /// Returns the value in memory for what the wire has. Bits beyond the value's size are dropped.
    #[inline]
    pub(super) fn decoded(self, wire: u64) -> u64 {
        match self {
            Self::Bool => u64::from(wire != 0),
            Self::Sint32 => {
                let wire = wire as u32;
                u64::from(wire >> 1 ^ (wire & 1).wrapping_neg())
            }
            Self::Sint64 => wire >> 1 ^ (wire & 1).wrapping_neg(),
            _ => wire,
        }
    }
}
