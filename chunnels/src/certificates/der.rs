//! DER (X.690), as far as the description of a certificate needs it.

/// The tag of an INTEGER.
pub(super) const INTEGER: u8 = 0x02;
/// The tag of an OBJECT IDENTIFIER.
pub(super) const OBJECT_ID: u8 = 0x06;
/// The tag of a SEQUENCE.
pub(super) const SEQUENCE: u8 = 0x30;
/// The tag of a SET.
pub(super) const SET: u8 = 0x31;

/// Takes the next element off `bytes`: its tag, which has one byte in certificates, and its content. `None` at the end of
/// `bytes` and for a malformed element.
pub(super) fn next<'a>(bytes: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let [tag, length, rest @ ..] = bytes else { return None };
    let (length, rest) = match *length {
        short @ 0..=0x7f => (usize::from(short), rest),
        // A certificate in TLS has at most three bytes of length.
        long @ 0x81..=0x83 => {
            let (length, rest) = rest.split_at_checked(usize::from(long - 0x80))?;
            (length.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (content, rest) = rest.split_at_checked(length)?;
    *bytes = rest;
    Some((*tag, content))
}

/// Takes the next element off `bytes` if it has this tag, and returns its content.
pub(super) fn expect<'a>(bytes: &mut &'a [u8], tag: u8) -> Option<&'a [u8]> {
    let mut after = *bytes;
    let (found, content) = next(&mut after)?;
    if found != tag {
        return None;
    }
    *bytes = after;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_follow_each_other() {
        let long = [&[SEQUENCE, 0x82, 0x01, 0x00][..], &[7; 256], &[INTEGER, 1, 5]].concat();
        let mut bytes = &long[..];
        assert_eq!(expect(&mut bytes, INTEGER), None);
        assert_eq!(expect(&mut bytes, SEQUENCE), Some(&[7; 256][..]));
        assert_eq!(next(&mut bytes), Some((INTEGER, &[5][..])));
        assert_eq!(next(&mut bytes), None);
    }

    proptest! {
        #[test]
        fn anything_ends(bytes: Vec<u8>) {
            let mut rest = &bytes[..];
            let mut seen = 0;
            while let Some((_, content)) = next(&mut rest) {
                seen += 2 + content.len();
            }
            prop_assert!(seen <= bytes.len());
        }
    }
}
