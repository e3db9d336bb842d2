//! A value in the statistics of a layer.

use std::fmt;
use std::time::Duration;

/// A value in the statistics of a layer, with its kind and unit.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Value {
    /// Number of events since the layer began. It never falls.
    Total(u64),
    /// A number at this moment, such as the messages in a queue.
    Number(u64),
    /// Bytes at this moment.
    Bytes(u64),
    /// Bytes since the layer began. It never falls.
    TotalBytes(u64),
    /// Bytes per second.
    Rate(u64),
    /// A time.
    Time(Duration),
    /// A state that holds or does not.
    Is(bool),
    /// A state with a name.
    Text(String),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total(number) | Self::Number(number) => write!(f, "{number}"),
            Self::Bytes(bytes) | Self::TotalBytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Rate(bytes) => write!(f, "{bytes} bytes/s"),
            // A digit behind the point is as fine as a person reads.
            Self::Time(time) => write!(f, "{time:.1?}"),
            Self::Is(true) => f.write_str("yes"),
            Self::Is(false) => f.write_str("no"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_shown_with_their_units() {
        let shown = [
            Value::Total(3),
            Value::Number(4),
            Value::Bytes(5),
            Value::TotalBytes(6),
            Value::Rate(7),
            Value::Time(Duration::from_micros(12_345)),
            Value::Is(true),
            Value::Is(false),
            Value::Text("up".into()),
        ]
        .map(|value| value.to_string());
        assert_eq!(shown, ["3", "4", "5 bytes", "6 bytes", "7 bytes/s", "12.3ms", "yes", "no", "up"]);
    }
}
