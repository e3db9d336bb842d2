//! What the two ends compare.

use bertha_core::Capability;
use serde::{Deserialize, Serialize};

/// How messages are encoded. Two ends are compatible if all of it is equal.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(exact, label = Self::codec_name)]
pub struct Encoding {
    /// [`Codec::NAME`](super::Codec::NAME).
    pub codec: String,
    /// [`Codec::VERSION`](super::Codec::VERSION).
    pub version: u16,
    /// [`Codec::options`](super::Codec::options).
    pub options: String,
    /// The name of the message type.
    pub schema: String,
}

impl Encoding {
    fn codec_name(&self) -> &str {
        &self.codec
    }
}
