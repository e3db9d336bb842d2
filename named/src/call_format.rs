//! Formats of requests and responses, by name.

use crate::Unknown;
use bertha::chunnels::Rpc;
use bertha::chunnels::serialize::Encoding;
use std::fmt;
use std::str::FromStr;

/// A format of requests and responses, which the program itself reads and writes. Ends that name different formats do
/// not agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CallFormat {
    /// Bytes of any kind, of which both ends know what they are.
    #[default]
    Bytes,
    /// CBOR.
    Cbor,
    /// JSON.
    Json,
    /// MessagePack.
    MessagePack,
    /// postcard, the format of services in Rust by default.
    Postcard,
}

impl CallFormat {
    /// The formats of this build.
    pub const ALL: &[Self] = &[Self::Bytes, Self::Cbor, Self::Json, Self::MessagePack, Self::Postcard];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Cbor => "cbor",
            Self::Json => "json",
            Self::MessagePack => "messagepack",
            Self::Postcard => "postcard",
        }
    }

    /// Returns the Chunnel whose offer names the format.
    pub(crate) fn rpc(self) -> Rpc {
        Rpc::new().encoding(Encoding::named(self.name()))
    }
}

impl fmt::Display for CallFormat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for CallFormat {
    type Err = Unknown;

    fn from_str(name: &str) -> Result<Self, Unknown> {
        Self::ALL.iter().copied().find(|format| format.name() == name).ok_or_else(|| {
            let known: Vec<_> = Self::ALL.iter().map(|format| format.name()).collect();
            Unknown::new(format!("`{name}` is no format of calls; the formats are {}", known.join(", ")))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_format_has_a_name_and_an_offer_of_its_own() {
        for (index, format) in CallFormat::ALL.iter().enumerate() {
            assert_eq!(format.name().parse(), Ok(*format));
            assert!(CallFormat::ALL[..index].iter().all(|other| other.rpc() != format.rpc()), "{format}");
        }
        assert_eq!(CallFormat::Postcard.rpc(), Rpc::new());
        let refusal = "xml".parse::<CallFormat>().map_err(|unknown| unknown.to_string());
        assert!(refusal.is_err_and(|reason| reason.contains("bytes, cbor, json, messagepack, postcard")));
    }
}
