//! The Chunnels that a stack can name.

use crate::Unknown;
use bertha::Error;
use bertha::ccp::Choice;
use std::fmt::Write;

/// A layer of a stack: a Chunnel, with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Layer {
    AtMostOnce,
    Batch,
    Checksum,
    Compress,
    Fault {
        loss: f64,
    },
    Fragment,
    MaybeLocal,
    Nagle,
    Noise,
    Nothing,
    Ordered,
    Pace {
        bytes_per_second: u64,
    },
    #[cfg(feature = "quic")]
    Quic,
    Reliable {
        /// The congestion control, in place of that of the options.
        congestion: Option<Choice>,
    },
    Tls,
}

/// A name that a stack may have, and the meaning of its value.
#[derive(Debug, Clone, Copy)]
struct Name {
    name: &'static str,
    value: Value,
}

/// The value of a layer, with its meaning.
#[derive(Debug, Clone, Copy)]
enum Value {
    Nothing,
    Needed(&'static str),
    Possible(&'static str),
}

const fn plain(name: &'static str) -> Name {
    Name { name, value: Value::Nothing }
}

const NAMES: &[Name] = &[
    plain("at-most-once"),
    plain("batch"),
    plain("checksum"),
    plain("compress"),
    Name { name: "fault", value: Value::Needed("LOSS, from 0 to 1") },
    plain("fragment"),
    plain("maybe-local"),
    plain("nagle"),
    plain("noise"),
    plain("nothing"),
    plain("ordered"),
    Name { name: "pace", value: Value::Needed("BYTES_PER_SECOND") },
    #[cfg(feature = "quic")]
    plain("quic"),
    Name { name: "reliable", value: Value::Possible("CONGESTION_CONTROL") },
    plain("tls"),
];

/// Returns the list of names for human readers.
pub(crate) fn known() -> String {
    let mut list = String::new();
    for Name { name, value } in NAMES {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = match value {
            Value::Nothing => write!(list, "{separator}{name}"),
            Value::Needed(value) => write!(list, "{separator}{name}={value}"),
            Value::Possible(value) => write!(list, "{separator}{name}[={value}]"),
        };
    }
    list
}

impl Layer {
    /// Returns the Chunnel of this name, written as in a stack or as an agreement shows it:
    /// `at-most-once`, `AtMostOnce`.
    ///
    /// # Errors
    /// [`Unknown`] if there is no such Chunnel or it does not take the value.
    pub(crate) fn named(name: &str, value: Option<&str>) -> Result<Self, Unknown> {
        let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let found = NAMES.iter().find(|known| letters(known.name) == letters(name));
        let Some(Name { name, value: meaning }) = found else {
            return Err(Unknown::new(format!(
                "`{name}` is no Chunnel that this program knows; it knows {}",
                known()
            )));
        };
        let wanted = || {
            Unknown::new(match meaning {
                Value::Needed(meaning) | Value::Possible(meaning) => {
                    format!("`{name}` needs a value: {name}={meaning}")
                }
                Value::Nothing => format!("`{name}` has no value"),
            })
        };
        match (meaning, value) {
            (Value::Nothing, Some(value)) => {
                return Err(Unknown::new(format!("`{name}` has no value, and was given `{value}`")));
            }
            (Value::Needed(_), None) => return Err(wanted()),
            _ => {}
        }
        let given = value;
        let value = value.unwrap_or_default();
        Ok(match *name {
            "at-most-once" => Self::AtMostOnce,
            "batch" => Self::Batch,
            "checksum" => Self::Checksum,
            "compress" => Self::Compress,
            "fault" => match value.parse() {
                Ok(loss) if (0.0..=1.0).contains(&loss) => Self::Fault { loss },
                _ => return Err(wanted()),
            },
            "fragment" => Self::Fragment,
            "maybe-local" => Self::MaybeLocal,
            "nagle" => Self::Nagle,
            "noise" => Self::Noise,
            "ordered" => Self::Ordered,
            "pace" => match value.parse() {
                Ok(bytes_per_second) if bytes_per_second > 0 => Self::Pace { bytes_per_second },
                _ => return Err(wanted()),
            },
            #[cfg(feature = "quic")]
            "quic" => Self::Quic,
            "reliable" => {
                let congestion = given.map(str::parse).transpose();
                Self::Reliable {
                    congestion: congestion.map_err(|error: Error| Unknown::new(error.to_string()))?,
                }
            }
            "tls" => Self::Tls,
            _ => Self::Nothing,
        })
    }
}

#[cfg(feature = "queue")]
impl Layer {
    /// Returns the name of a Chunnel whose two ends answer each other; `None` for the others.
    pub(crate) fn for_two(&self) -> Option<&'static str> {
        match self {
            Self::MaybeLocal => Some("maybe-local"),
            Self::Noise => Some("noise"),
            #[cfg(feature = "quic")]
            Self::Quic => Some("quic"),
            Self::Reliable { .. } => Some("reliable"),
            Self::Tls => Some("tls"),
            _ => None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests panic to fail")]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_a_chunnel_of_its_own() {
        let mut found = Vec::new();
        for Name { name, value } in NAMES {
            let given = matches!(value, Value::Needed(_)).then_some("1");
            let layer = Layer::named(name, given).unwrap();
            assert!(!found.contains(&layer), "{name}");
            found.push(layer);
        }
    }

    #[test]
    fn a_value_is_checked() {
        assert_eq!(Layer::named("Fault", Some("0.25")), Ok(Layer::Fault { loss: 0.25 }));
        for (name, value) in
            [("fault", Some("2")), ("fault", None), ("pace", Some("0")), ("tls", Some("1")), ("ordred", None)]
                .into_iter()
                .chain([("reliable", Some("")), ("reliable", Some("cubik"))])
        {
            assert!(Layer::named(name, value).is_err(), "{name}={value:?}");
        }
        let congestion = "agent:copa".parse().ok();
        assert_eq!(Layer::named("reliable", Some("agent:copa")), Ok(Layer::Reliable { congestion }));
        assert!(Layer::named("ordred", None).unwrap_err().to_string().contains("at-most-once, batch"));
    }
}
