//! Numbers of 1, 2, 4 or 8 bytes (RFC 9000, section 16): the first two bits say how many, the rest is the number,
//! most significant byte first.

/// The largest number.
pub(in crate::reliable) const MAX: u64 = (1 << 62) - 1;

/// Returns the number of bytes of an encoded `number`.
pub(in crate::reliable) const fn size(number: u64) -> usize {
    match number {
        0..0x40 => 1,
        0x40..0x4000 => 2,
        0x4000..0x4000_0000 => 4,
        _ => 8,
    }
}

/// Returns the bytes of `number`: the first [`size`] of the result. Larger numbers than [`MAX`] are written as that.
pub(super) fn encode(number: u64) -> [u8; 8] {
    let number = number.min(MAX);
    let size = size(number);
    let tagged = number | (size.trailing_zeros() as u64) << (8 * size - 2);
    (tagged << (64 - 8 * size)).to_be_bytes()
}

/// Returns the number at the start of `bytes`, and its length; `None` if it is cut off.
pub(super) fn decode(bytes: &[u8]) -> Option<(u64, usize)> {
    let size = 1 << (bytes.first()? >> 6);
    let mut number = [0; 8];
    number[8 - size..].copy_from_slice(bytes.get(..size)?);
    let tagged = u64::from_be_bytes(number);
    Some((tagged & (u64::MAX >> (66 - 8 * size)), size))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The examples of RFC 9000, appendix A.1.
    #[test]
    fn the_examples_of_the_rfc() {
        let examples: [(u64, &[u8]); 4] = [
            (151_288_809_941_952_652, &[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c]),
            (494_878_333, &[0x9d, 0x7f, 0x3e, 0x7d]),
            (15_293, &[0x7b, 0xbd]),
            (37, &[0x25]),
        ];
        for (number, bytes) in examples {
            assert_eq!(&encode(number)[..size(number)], bytes);
            assert_eq!(decode(bytes), Some((number, bytes.len())));
        }
        // Longer than it need be, which is allowed.
        assert_eq!(decode(&[0x40, 0x25]), Some((37, 2)));
    }

    proptest! {
        #[test]
        fn every_number_survives_and_no_shorter_bytes_do(shift in 2..64_u32, number: u64) {
            let number = number >> shift;
            let (bytes, size) = (encode(number), size(number));
            prop_assert_eq!(decode(&bytes[..size]), Some((number, size)));
            prop_assert!((0..size).all(|len| decode(&bytes[..len]).is_none()));
        }
    }
}
