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

/// The key's bytes begin `OFFSET` bytes into the encoding, behind their number: eight bytes, little endian,
/// or a single byte below 128 where `OFFSET` leaves no room for eight.
///
/// [`Bincode`](super::Bincode) writes strings and vectors of bytes in the first form, at a known offset
/// behind fields of fixed size: `OFFSET` is 8 for a field that stands first. [`Postcard`](super::Postcard)
/// writes the second form for a key of at most 127 bytes: `OFFSET` is 1 for a field that stands first. It
/// writes the first form only for a key of fixed size, whose number the message spells out: a field `[u8;
/// 8]`, and behind it the key as `[u8; N]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct At<const OFFSET: usize>;

/// The lengths that a single byte has in an encoding of variable size.
const SHORT: u8 = 128;

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
        const { assert!(OFFSET >= 1, "in front of a key stands its length") }
        let (front, rest) = message.split_at_checked(OFFSET)?;
        let length = match front.last_chunk() {
            Some(length) => usize::try_from(u64::from_le_bytes(*length)).ok()?,
            None => usize::from(*front.last().filter(|length| **length < SHORT)?),
        };
        rest.get(..length)
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

    #[test]
    fn a_length_in_front_of_which_there_is_no_room_for_eight_bytes_takes_one() {
        let message = [3, b'k', b'e', b'y', 7];
        assert_eq!(At::<1>::key(&message), Some(&b"key"[..]));
        assert_eq!(At::<1>::key(&message[..4]), Some(&b"key"[..]));
        for short in 0..4 {
            assert_eq!(At::<1>::key(&message[..short]), None);
        }
        assert_eq!(At::<7>::key(&[9, 9, 9, 9, 9, 9, 1, b'k']), Some(&b"k"[..]));
        let long = [&[127][..], &[b'k'; 200]].concat();
        assert_eq!(At::<1>::key(&long), Some(&[b'k'; 127][..]));
        for length in [128, 255] {
            assert_eq!(At::<1>::key(&[&[length][..], &[1; 300]].concat()), None, "a length of several bytes");
        }
    }
}
