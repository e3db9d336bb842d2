//! Parts that the codecs have in common whose messages tell the names of their fields.

use super::bounds::{Bytes, Nested};
use serde::de::{Deserialize, DeserializeOwned, DeserializeSeed, Deserializer};
use std::fmt;

/// The reason why [`Cbor`](super::Cbor), [`MessagePack`](super::MessagePack) or [`Json`](super::Json) has no encoding of a message, or
/// finds no message in bytes.
///
/// Its text has at most 200 characters, with control characters escaped: parts of it come from the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatError(Box<str>);

/// Number of characters of an error that are kept.
const SHOWN: usize = 200;

impl FormatError {
    #[cold]
    pub(super) fn new(reason: &impl fmt::Display) -> Self {
        let mut text = String::new();
        for character in reason.to_string().chars().take(SHOWN) {
            if character.is_control() {
                text.extend(character.escape_default())
            } else {
                text.push(character)
            }
        }
        if let Some((end, _)) = text.char_indices().nth(SHOWN) {
            text.truncate(end);
        }
        Self(text.into())
    }
}

impl fmt::Display for FormatError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for FormatError {}

/// A whole message, decoded within the bounds.
pub(super) struct Whole<T>(pub(super) T);

impl<'de, T: DeserializeOwned> Deserialize<'de> for Whole<T> {
    #[inline]
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Nested::message(Bytes).deserialize(deserializer).map(Self)
    }
}

/// Writes to the start of `into`, and returns how many bytes were written.
#[inline]
pub(super) fn write_into<E>(
    into: &mut [u8],
    write: impl FnOnce(&mut &mut [u8]) -> Result<(), E>,
) -> Result<usize, E> {
    let space = into.len();
    let mut rest = into;
    write(&mut rest)?;
    Ok(space - rest.len())
}
