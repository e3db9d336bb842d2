//! The capability that the two ends compare.

use bertha_core::capability::exact_part;
use bertha_core::{Capability, Mismatch};
use serde::{Deserialize, Serialize};

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
    /// The name of the message type.
    pub schema: String,
}

impl Encoding {
    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("codec", &self.codec, &other.codec)?;
        exact_part("version of the codec", &self.version, &other.version)?;
        exact_part("options of the codec", &self.options, &other.options)?;
        exact_part("offset of the key", &offset(self.key), &offset(other.key))?;
        exact_part("schema", &self.schema, &other.schema)
    }

    fn codec_name(&self) -> &str {
        &self.codec
    }
}

fn offset(key: Option<u64>) -> String {
    key.map_or_else(|| "none".into(), |offset| offset.to_string())
}
