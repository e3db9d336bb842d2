//! Serialisation of containers of bytes as a single byte string.
//!
//! The derived form of a list of bytes is a sequence that visits each byte. A codec copies a byte string at
//! once, and on the wire bincode and postcard write both forms alike, and alike to a string of these bytes.

use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserializer, Error, SeqAccess, Visitor};
use serde::ser::Serializer;

pub(crate) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_bytes(bytes.as_ref())
}

pub(crate) fn deserialize<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: for<'a> From<&'a [u8]>,
    D: Deserializer<'de>,
{
    deserializer.deserialize_bytes(Bytes(PhantomData))
}

/// Largest number of bytes that are reserved because of a length prefix, before its bytes have been seen.
const TRUSTED_LENGTH: usize = 4096;

struct Bytes<T>(PhantomData<fn() -> T>);

impl<'de, T: for<'a> From<&'a [u8]>> Visitor<'de> for Bytes<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a run of bytes")
    }

    fn visit_bytes<E: Error>(self, bytes: &[u8]) -> Result<T, E> {
        Ok(bytes.into())
    }

    // Human-readable formats, such as JSON, have no byte strings and write a list of numbers.
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<T, A::Error> {
        let mut bytes = Vec::with_capacity(list.size_hint().unwrap_or(0).min(TRUSTED_LENGTH));
        while let Some(byte) = list.next_element()? {
            bytes.push(byte);
        }
        Ok(bytes.as_slice().into())
    }
}
