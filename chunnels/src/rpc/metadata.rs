//! Names and values that go beside requests and responses.
//!
//! ```text
//! length of the entries: 2 bytes | for each entry: length of the key 1, key, length of the value 2, value
//! ```
//!
//! All numbers are little-endian. A message without entries has none of this.

use bertha_core::{Buf, Error, ErrorKind};
use std::fmt;

/// The bytes in front of the entries.
const HEAD: usize = 2;

/// The bytes of an entry beside its key and its value.
const LENGTHS: usize = 3;

/// Names and values that go with a call, beside its request; or back with its outcome, as its trailers.
///
/// Keys are names as in HTTP/2: ASCII letters in lower case, digits, `-`, `_` and `.`, at most 255 of them. Values
/// are bytes. A key may have several values; the entries keep their order.
///
/// Metadata has at most [`MAX_ENTRIES`](Self::MAX_ENTRIES) entries, and at most [`MAX_BYTES`](Self::MAX_BYTES) bytes of
/// keys and values, with 3 bytes for each entry. Both ends check the limits.
///
/// `{:?}` shows keys, and the lengths of values, which may be secrets.
///
/// One pointer wide, and null for most calls.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Metadata(Option<Box<Entries>>);

/// The entries as on the wire, at least one.
#[derive(Clone, Default, PartialEq, Eq)]
struct Entries {
    bytes: Vec<u8>,
}

impl Metadata {
    /// Maximum number of entries.
    pub const MAX_ENTRIES: usize = 64;

    /// Maximum number of bytes.
    pub const MAX_BYTES: usize = 8 * 1024;

    /// Makes metadata without entries.
    pub const fn new() -> Self {
        Self(None)
    }

    /// Returns the entries as on the wire.
    #[inline]
    fn bytes(&self) -> &[u8] {
        self.0.as_ref().map_or(&[], |entries| &entries.bytes)
    }

    /// Adds an entry behind the others.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if the key is no name, [`TooLarge`](ErrorKind::TooLarge) beyond a limit. Nothing is added
    /// then.
    pub fn add(&mut self, key: &str, value: impl AsRef<[u8]>) -> Result<(), Error> {
        let value = value.as_ref();
        let key_length = u8::try_from(key.len()).ok().filter(|_| is_name(key.as_bytes()));
        let Some(key_length) = key_length else { return Err(no_name(key)) };
        let bytes = self.bytes().len() + LENGTHS + key.len() + value.len();
        let Ok(value_length) = u16::try_from(value.len()) else { return Err(too_many_bytes(bytes)) };
        if bytes > Self::MAX_BYTES {
            return Err(too_many_bytes(bytes));
        }
        if self.len() == Self::MAX_ENTRIES {
            return Err(too_many_entries());
        }
        let Entries { bytes } = &mut **self.0.get_or_insert_default();
        bytes.push(key_length);
        bytes.extend_from_slice(key.as_bytes());
        bytes.extend_from_slice(&value_length.to_le_bytes());
        bytes.extend_from_slice(value);
        Ok(())
    }

    /// Returns the first value of a key.
    pub fn get(&self, key: &str) -> Option<&[u8]> {
        self.iter().find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// Returns the keys and their values, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &[u8])> {
        let mut rest = self.bytes();
        std::iter::from_fn(move || {
            let (key, value, behind) = entry(rest)?;
            rest = behind;
            // Checked when the entry was made.
            Some((str::from_utf8(key).unwrap_or_default(), value))
        })
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Returns true without entries.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns the number of bytes that the entries take in front of a body: zero without entries.
    #[inline]
    pub(super) fn length(&self) -> usize {
        if self.is_empty() { 0 } else { HEAD + self.bytes().len() }
    }

    /// Writes the entries at the start of `into`, and a body behind them by `write`. Returns the number of bytes of
    /// both, `None` if `into` is too small.
    #[inline]
    pub(super) fn write_before<E>(
        &self,
        into: &mut [u8],
        write: impl FnOnce(&mut [u8]) -> Result<Option<usize>, E>,
    ) -> Result<Option<usize>, E> {
        let length = self.length();
        let Some((front, body)) = into.split_at_mut_checked(length) else { return Ok(None) };
        if length > 0 {
            let (head, entries) = front.split_at_mut(HEAD);
            head.copy_from_slice(&(entries.len() as u16).to_le_bytes());
            entries.copy_from_slice(self.bytes());
        }
        Ok(write(body)?.map(|written| length + written))
    }

    /// Takes the entries off the front of a body.
    ///
    /// # Errors
    /// [`Malformed`](ErrorKind::Malformed) if there are none, [`TooLarge`](ErrorKind::TooLarge) beyond a limit.
    pub(super) fn take(body: &mut Buf) -> Result<Self, Error> {
        let behind = Self::length_in(body)?;
        let bytes = body.get(HEAD..behind).ok_or_else(malformed)?;
        let entries = (!bytes.is_empty()).then(|| Box::new(Entries { bytes: bytes.to_vec() }));
        body.advance(behind).map_err(|_| malformed())?;
        Ok(Self(entries))
    }

    /// Returns the number of bytes that entries take at the front of a body.
    ///
    /// # Errors
    /// The errors of [`take`](Self::take).
    pub(super) fn length_in(body: &[u8]) -> Result<usize, Error> {
        let length = body.first_chunk().copied().map(u16::from_le_bytes).ok_or_else(malformed)?.into();
        if length > Self::MAX_BYTES {
            return Err(too_many_bytes(length));
        }
        let bytes = body.get(HEAD..HEAD + length).ok_or_else(malformed)?;
        let (mut rest, mut entries) = (bytes, 0);
        while !rest.is_empty() {
            let (_, _, behind) = entry(rest).filter(|(key, ..)| is_name(key)).ok_or_else(malformed)?;
            entries += 1;
            if entries > Self::MAX_ENTRIES {
                return Err(too_many_entries());
            }
            rest = behind;
        }
        Ok(HEAD + length)
    }
}

/// Returns the key and the value of the first entry, and the bytes behind it.
fn entry(bytes: &[u8]) -> Option<(&[u8], &[u8], &[u8])> {
    let (length, rest) = bytes.split_first()?;
    let (key, rest) = rest.split_at_checked(usize::from(*length))?;
    let (length, rest) = rest.split_first_chunk()?;
    let (value, rest) = rest.split_at_checked(u16::from_le_bytes(*length).into())?;
    Some((key, value, rest))
}

fn is_name(key: &[u8]) -> bool {
    let is_allowed = |byte: &u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.');
    !key.is_empty() && key.iter().all(is_allowed)
}

#[cold]
fn no_name(key: &str) -> Error {
    let shown: String = key.chars().take(40).collect();
    let what =
        format!("{shown:?} is no key of metadata: 1 to 255 letters in lower case, digits, `-`, `_` and `.`");
    Error::new(ErrorKind::Malformed, what)
}

#[cold]
fn too_many_bytes(bytes: usize) -> Error {
    let what = format!("metadata of {bytes} bytes; at most {} are allowed", Metadata::MAX_BYTES);
    Error::new(ErrorKind::TooLarge, what)
}

#[cold]
fn too_many_entries() -> Error {
    let what = format!("metadata of more than {} entries, the limit", Metadata::MAX_ENTRIES);
    Error::new(ErrorKind::TooLarge, what)
}

#[cold]
fn malformed() -> Error {
    Error::new(ErrorKind::Malformed, "the metadata in front of the body does not follow the format")
}

impl fmt::Debug for Metadata {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lengths = self.iter().map(|(key, value)| (key, format!("{} bytes", value.len())));
        f.debug_map().entries(lengths).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn written(metadata: &Metadata, body: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; metadata.length() + body.len()];
        let copy = |into: &mut [u8]| {
            into.copy_from_slice(body);
            Ok::<_, Error>(Some(body.len()))
        };
        assert_eq!(metadata.write_before(&mut bytes, copy).unwrap(), Some(metadata.length() + body.len()));
        bytes
    }

    proptest! {
        #[test]
        fn what_is_written_is_taken(
            entries in prop::collection::vec(("[a-z0-9_.-]{1,9}", prop::collection::vec(any::<u8>(), 0..20)), 1..20),
            body in prop::collection::vec(any::<u8>(), 0..20),
        ) {
            let mut metadata = Metadata::new();
            for (key, value) in &entries {
                metadata.add(key, value).unwrap();
            }
            let mut bytes = Buf::copy_of(&written(&metadata, &body), 0).unwrap();
            prop_assert_eq!(Metadata::take(&mut bytes).unwrap(), metadata.clone());
            prop_assert_eq!(&*bytes, &*body);
            let read: Vec<_> = metadata.iter().map(|(key, value)| (key.to_owned(), value.to_vec())).collect();
            prop_assert_eq!(read, entries);
        }

        #[test]
        fn any_bytes_are_metadata_or_none(bytes in prop::collection::vec(0_u8..8, 0..40)) {
            let mut body = Buf::copy_of(&bytes, 0).unwrap();
            if let Ok(metadata) = Metadata::take(&mut body) {
                prop_assert_eq!(HEAD + metadata.bytes().len() + body.len(), bytes.len());
            } else {
                prop_assert_eq!(&*body, &*bytes);
            }
        }
    }

    #[test]
    fn the_format_is_as_described() {
        let mut metadata = Metadata::new();
        assert_eq!(written(&metadata, b"x"), b"x");
        metadata.add("ab", b"cde").unwrap();
        assert_eq!(written(&metadata, b"x"), b"\x08\0\x02ab\x03\0cdex");
        assert_eq!(metadata.write_before(&mut [0; 9], |_| Err("there is no room")).unwrap(), None);
    }

    #[test]
    fn limits_are_named_and_hold_at_both_ends() {
        let mut full = Metadata::new();
        full.add("k", vec![7; Metadata::MAX_BYTES - LENGTHS - 1]).unwrap();
        for mut metadata in [full.clone(), Metadata::new()] {
            let error = metadata.add("k", vec![7; Metadata::MAX_BYTES - 3]).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TooLarge);
            assert!(error.context().ends_with("at most 8192 are allowed"), "{error}");
        }
        let mut bytes = Buf::copy_of(&written(&full, b""), 0).unwrap();
        assert_eq!(Metadata::take(&mut bytes).unwrap(), full);
        let too_long = [&8193_u16.to_le_bytes()[..], &[0; 9000]].concat();
        let error = Metadata::take(&mut Buf::copy_of(&too_long, 0).unwrap()).unwrap_err();
        assert_eq!((error.kind(), &error.context()[..22]), (ErrorKind::TooLarge, "metadata of 8193 bytes"));

        let mut many = Metadata::new();
        for _ in 0..Metadata::MAX_ENTRIES {
            many.add("k", "").unwrap();
        }
        let error = many.add("k", "").unwrap_err();
        assert_eq!((error.kind(), many.len()), (ErrorKind::TooLarge, 64));
        assert!(error.context().contains("64 entries"), "{error}");
        assert_eq!(Metadata::take(&mut Buf::copy_of(&written(&many, b""), 0).unwrap()).unwrap(), many);
        many.0.as_mut().unwrap().bytes.extend_from_slice(b"\x01k\0\0");
        let error = Metadata::take(&mut Buf::copy_of(&written(&many, b""), 0).unwrap()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
    }

    #[test]
    fn a_key_is_a_name() {
        let mut metadata = Metadata::new();
        for key in ["", "Upper", "two words", "key:", "\u{e9}", &"k".repeat(256)] {
            let error = metadata.add(key, "").unwrap_err();
            assert_eq!((error.kind(), metadata.is_empty()), (ErrorKind::Malformed, true), "{key}");
            let bytes = [&[key.len() as u8], key.as_bytes(), &[0, 0]].concat();
            let wrong = Metadata(Some(Box::new(Entries { bytes })));
            let taken = Metadata::take(&mut Buf::copy_of(&written(&wrong, b""), 0).unwrap());
            assert!(key.len() > 255 || taken.is_err_and(|it| it.kind() == ErrorKind::Malformed), "{key}");
        }
        metadata.add("a-key_of.9", "first").unwrap();
        metadata.add("a-key_of.9", "secret").unwrap();
        assert_eq!((metadata.get("a-key_of.9"), metadata.get("a")), (Some(&b"first"[..]), None));
        assert_eq!(format!("{metadata:?}"), r#"{"a-key_of.9": "5 bytes", "a-key_of.9": "6 bytes"}"#);
    }
}
