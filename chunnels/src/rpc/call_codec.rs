//! The capability that the two ends compare.

use crate::serialize::Encoding;
use bertha_core::capability::exact_part;
use bertha_core::{Capability, Mismatch};
use serde::{Deserialize, Serialize};

/// The codec of requests and responses. Two ends are compatible if all parts of it are equal.
///
/// Its version is that of the messages: an end of another version would drop messages of kinds that it does not know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, Capability)]
#[capability(compare = Self::compare, version = 2)]
pub(super) struct CallCodec {
    /// [`Encoding::codec`].
    name: String,
    /// [`Encoding::version`].
    version: u16,
    /// [`Encoding::options`].
    options: String,
}

impl CallCodec {
    /// Returns the description of the codec of this encoding.
    pub(super) fn of(encoding: Encoding) -> Self {
        let Encoding { codec: name, version, options, .. } = encoding;
        Self { name, version, options }
    }

    fn compare(&self, other: &Self) -> Result<(), Mismatch> {
        exact_part("codec of calls", &self.name, &other.name)?;
        exact_part("version of the codec of calls", &self.version, &other.version)?;
        exact_part("options of the codec of calls", &self.options, &other.options)
    }
}
