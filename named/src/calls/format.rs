//! Formats of requests and responses, by name.

use super::pass_through::PassThrough;
use crate::Unknown;
use bertha::chunnels::{Bincode, Postcard, Rpc};
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
    /// postcard, the format of services in Rust by default.
    Postcard,
    /// bincode.
    Bincode,
}

impl CallFormat {
    /// All formats of this build.
    pub const ALL: &[Self] = &[Self::Bytes, Self::Postcard, Self::Bincode];

    /// Returns the name of the format.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Postcard => "postcard",
            Self::Bincode => "bincode",
        }
    }

    /// Returns the Chunnel whose offer names the format.
    pub(super) fn rpc(self) -> Rpc {
        match self {
            Self::Bytes => Rpc::new().codec(&PassThrough),
            Self::Postcard => Rpc::new().codec(&Postcard),
            Self::Bincode => {
                // With the limit by default.
                let bincode: Bincode = Bincode;
                Rpc::new().codec(&bincode)
            }
        }
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
        assert!(refusal.is_err_and(|reason| reason.contains("bytes, postcard, bincode")));
    }
}
