//! The Chunnels that a stack can name.

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
    Reliable,
    Tls,
}

/// A name that the command knows, and the meaning of its value.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name {
    name: &'static str,
    value: Option<&'static str>,
}

const fn plain(name: &'static str) -> Name {
    Name { name, value: None }
}

const NAMES: &[Name] = &[
    plain("at-most-once"),
    plain("batch"),
    plain("checksum"),
    plain("compress"),
    Name { name: "fault", value: Some("LOSS, from 0 to 1") },
    plain("fragment"),
    plain("maybe-local"),
    plain("nagle"),
    plain("noise"),
    plain("nothing"),
    plain("ordered"),
    Name { name: "pace", value: Some("BYTES_PER_SECOND") },
    #[cfg(feature = "quic")]
    plain("quic"),
    plain("reliable"),
    plain("tls"),
];

/// Returns the list of names for human readers.
pub(crate) fn known() -> String {
    let mut list = String::new();
    for Name { name, value } in NAMES {
        let separator = if list.is_empty() { "" } else { ", " };
        // Writing to a string can't fail.
        let _ = match value {
            Some(value) => write!(list, "{separator}{name}={value}"),
            None => write!(list, "{separator}{name}"),
        };
    }
    list
}

impl Layer {
    /// Returns the Chunnel of this name, written as on the command line or as an agreement shows it:
    /// `at-most-once`, `AtMostOnce`.
    ///
    /// # Errors
    /// Returns a text for human readers if there is no such Chunnel or it does not take the value.
    pub(crate) fn named(name: &str, value: Option<&str>) -> Result<Self, String> {
        let letters = |name: &str| name.replace(['-', '_'], "").to_ascii_lowercase();
        let found = NAMES.iter().find(|known| letters(known.name) == letters(name));
        let Some(Name { name, value: meaning }) = found else {
            return Err(format!("`{name}` is no Chunnel that this command knows; it knows {}", known()));
        };
        let wanted = |meaning: &str| format!("`{name}` needs a value: {name}={meaning}");
        match (meaning, value) {
            (None, Some(value)) => return Err(format!("`{name}` has no value, and was given `{value}`")),
            (Some(meaning), None) => return Err(wanted(meaning)),
            _ => {}
        }
        let value = value.unwrap_or_default();
        Ok(match *name {
            "at-most-once" => Self::AtMostOnce,
            "batch" => Self::Batch,
            "checksum" => Self::Checksum,
            "compress" => Self::Compress,
            "fault" => match value.parse() {
                Ok(loss) if (0.0..=1.0).contains(&loss) => Self::Fault { loss },
                _ => return Err(wanted(meaning.unwrap_or_default())),
            },
            "fragment" => Self::Fragment,
            "maybe-local" => Self::MaybeLocal,
            "nagle" => Self::Nagle,
            "noise" => Self::Noise,
            "ordered" => Self::Ordered,
            "pace" => match value.parse() {
                Ok(bytes_per_second) if bytes_per_second > 0 => Self::Pace { bytes_per_second },
                _ => return Err(wanted(meaning.unwrap_or_default())),
            },
            #[cfg(feature = "quic")]
            "quic" => Self::Quic,
            "reliable" => Self::Reliable,
            "tls" => Self::Tls,
            _ => Self::Nothing,
        })
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
            let layer = Layer::named(name, value.map(|_| "1")).unwrap();
            assert!(!found.contains(&layer), "{name}");
            found.push(layer);
        }
    }

    #[test]
    fn a_value_is_checked() {
        assert_eq!(Layer::named("Fault", Some("0.25")), Ok(Layer::Fault { loss: 0.25 }));
        for (name, value) in
            [("fault", Some("2")), ("fault", None), ("pace", Some("0")), ("tls", Some("1")), ("ordred", None)]
        {
            assert!(Layer::named(name, value).is_err(), "{name}={value:?}");
        }
        assert!(Layer::named("ordred", None).unwrap_err().contains("at-most-once, batch"));
    }
}
