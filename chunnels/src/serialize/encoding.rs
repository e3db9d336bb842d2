//! The capability that the two ends compare.

use super::{Codec, KeyPlace};
use bertha_core::capability::exact_part;
use bertha_core::{Capability, Mismatch};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The encoding of messages. Two ends are compatible if all parts of it are equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare, label = Self::codec_name)]
pub struct Encoding {
    /// [`Codec::NAME`](super::Codec::NAME).
    pub codec: String,
    /// [`Codec::VERSION`](super::Codec::VERSION).
    pub version: u16,
    /// [`Codec::options`](super::Codec::options).
    pub options: String,
    /// The offset of a message's key, if the codec has one: [`Codec::Key`](super::Codec::Key).
    pub key: Option<u64>,
    /// The name of the message type. Empty for a codec whose messages [describe themselves](super::Codec::DESCRIBES_ITSELF), unless one
    /// was given.
    pub schema: String,
}

impl Encoding {
    /// Returns the encoding of messages of type `T` by this codec, without a schema.
    pub fn of<T, C: Codec<T>>(codec: &C) -> Self {
        Self {
            codec: C::NAME.into(),
            version: C::VERSION,
            options: codec.options(),
            key: C::Key::OFFSET.map(|offset| offset as u64),
            schema: String::new(),
        }
    }

    /// Returns the encoding by a codec that the program knows by its name alone, such as `cbor`, `messagepack` or `json`: in version 1,
    /// without options and without a schema.
    pub fn named(codec: impl Into<String>) -> Self {
        Self { codec: codec.into(), version: 1, options: String::new(), key: None, schema: String::new() }
    }

    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("codec", &self.codec, &other.codec)?;
        exact_part("version of the codec", &self.version, &other.version)?;
        exact_part("options of the codec", &self.options, &other.options)?;
        exact_part("offset of the key", &offset(self.key), &offset(other.key))?;
        exact_part("schema", &Name(&self.schema), &Name(&other.schema))
    }

    fn codec_name(&self) -> &str {
        &self.codec
    }
}

fn offset(key: Option<u64>) -> String {
    key.map_or_else(|| "none".into(), |offset| offset.to_string())
}

/// The name of a schema, shown as what it is if it is empty.
#[derive(PartialEq)]
struct Name<'a>(&'a str);

impl fmt::Display for Name<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "none" } else { self.0 })
    }
}
