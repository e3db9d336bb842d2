//! The place of the key in an encoded message.

use bertha_core::identity::{Bool, False, True};

/// The place of a message's key in its encoding: [`At`], where the key is found without decoding, or [`Anywhere`].
pub trait KeyPlace {
    /// True if the offset is known.
    type Fixed: Bool;

    /// The offset in bytes, if it is known.
    const OFFSET: Option<usize>;
}

/// The key can't be found without decoding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Anywhere;

/// The key's bytes begin `OFFSET` bytes into the encoding. The eight bytes before them are their number, little endian.
///
/// [`Bincode`](super::Bincode) writes strings and vectors of bytes in this form, at a known offset behind
/// fields of fixed size: `OFFSET` is 8 for a field that stands first. [`Postcard`](super::Postcard) writes
/// this form only for a key of fixed size, whose number the message spells out: a field `[u8; 8]`, and
/// behind it the key as `[u8; N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<const OFFSET: usize>;

/// The bytes that the length of a key takes.
const LENGTH: usize = size_of::<u64>();

impl KeyPlace for Anywhere {
    type Fixed = False;
    const OFFSET: Option<usize> = None;
}

impl<const OFFSET: usize> KeyPlace for At<OFFSET> {
    type Fixed = True;
    const OFFSET: Option<usize> = Some(OFFSET);
}

impl<const OFFSET: usize> At<OFFSET> {
    /// Returns the key in an encoded message; `None` if the message ends before the key does.
    #[inline]
    pub fn key(message: &[u8]) -> Option<&[u8]> {
        const { assert!(OFFSET >= LENGTH, "in front of a key stand the eight bytes of its length") }
        let (front, rest) = message.split_at_checked(OFFSET)?;
        let length = u64::from_le_bytes(*front.last_chunk()?);
        rest.get(..usize::try_from(length).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_that_is_not_all_there_is_none() {
        let message = [9, 3, 0, 0, 0, 0, 0, 0, 0, b'k', b'e', b'y', 7];
        assert_eq!(At::<9>::key(&message), Some(&b"key"[..]));
        assert_eq!(At::<9>::key(&message[..12]), Some(&b"key"[..]));
        for short in 0..12 {
            assert_eq!(At::<9>::key(&message[..short]), None);
        }
        let huge = [0xff; 40];
        assert_eq!(At::<9>::key(&huge), None);
        assert_eq!(At::<8>::key(&[0; 8]), Some(&b""[..]));
    }
}
