//! The state of a layer, as it goes from the process to those who ask.

use bertha_core::Statistics;
use bertha_core::statistics::{Layer, Value};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// A layer of a connection or of a listener at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct LayerState {
    /// The name of the Chunnel, or of the part of the connection below the stack.
    pub name: String,
    /// The values, in the order in which a reader looks for them.
    pub values: Vec<NamedValue>,
    /// The drops that have occurred, by reason.
    pub drops: Vec<DropState>,
}

/// A value of a layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct NamedValue {
    /// The name, in snake case and without a unit.
    pub name: String,
    /// The value.
    #[serde(flatten)]
    pub value: StateValue,
}

/// A value with its kind, whose name has the unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", content = "value", rename_all = "snake_case")]
#[non_exhaustive]
pub enum StateValue {
    /// Number of events since the layer began.
    Total(u64),
    /// A number at this moment.
    Number(u64),
    /// Bytes at this moment.
    Bytes(u64),
    /// Bytes since the layer began.
    TotalBytes(u64),
    /// Bytes per second.
    BytesPerSecond(u64),
    /// A time, in seconds.
    Seconds(f64),
    /// A state that holds or does not.
    Is(bool),
    /// A state with a name.
    Text(String),
}

/// The messages that a layer has dropped for one reason.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct DropState {
    /// The reason, in a few words.
    pub reason: String,
    /// Number of the messages.
    pub messages: u64,
}

impl LayerState {
    pub(crate) fn all(statistics: &Statistics) -> Vec<Self> {
        statistics.layers().map(Self::of).collect()
    }

    fn of(layer: &Layer) -> Self {
        let values = layer.values().into_iter().filter_map(|(name, value)| {
            Some(NamedValue { name: name.into(), value: StateValue::of(value)? })
        });
        let drops = layer.drops().filter(|dropped| dropped.messages > 0);
        let drops = drops.map(|it| DropState { reason: it.reason.into(), messages: it.messages });
        Self { name: layer.name().into(), values: values.collect(), drops: drops.collect() }
    }

    /// Returns the value of this name.
    pub fn value(&self, name: &str) -> Option<&StateValue> {
        self.values.iter().find(|value| value.name == name).map(|value| &value.value)
    }
}

impl StateValue {
    /// Returns `None` for a kind that this format does not have.
    fn of(value: Value) -> Option<Self> {
        Some(match value {
            Value::Total(number) => Self::Total(number),
            Value::Number(number) => Self::Number(number),
            Value::Bytes(bytes) => Self::Bytes(bytes),
            Value::TotalBytes(bytes) => Self::TotalBytes(bytes),
            Value::Rate(bytes) => Self::BytesPerSecond(bytes),
            Value::Time(time) => Self::Seconds(time.as_secs_f64()),
            Value::Is(holds) => Self::Is(holds),
            Value::Text(text) => Self::Text(text),
            _ => return None,
        })
    }

    /// Returns the number of a total.
    pub fn total(&self) -> Option<u64> {
        match *self {
            Self::Total(total) | Self::TotalBytes(total) => Some(total),
            _ => None,
        }
    }

    /// Returns the seconds of a time.
    pub fn seconds(&self) -> Option<f64> {
        match *self {
            Self::Seconds(seconds) => Some(seconds),
            _ => None,
        }
    }
}

impl fmt::Display for StateValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Total(number) | Self::Number(number) => write!(f, "{number}"),
            Self::Bytes(bytes) | Self::TotalBytes(bytes) => write!(f, "{bytes} bytes"),
            Self::BytesPerSecond(bytes) => write!(f, "{bytes} bytes/s"),
            // The peer of a question may send any number.
            Self::Seconds(seconds) => match Duration::try_from_secs_f64(*seconds) {
                Ok(time) => write!(f, "{time:.1?}"),
                Err(_) => write!(f, "{seconds} s"),
            },
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
    fn values_have_their_unit_in_json() {
        let values = [
            (Value::Total(3), r#"{"name":"x","kind":"total","value":3}"#),
            (Value::Rate(5), r#"{"name":"x","kind":"bytes_per_second","value":5}"#),
            (Value::Time(Duration::from_millis(1_500)), r#"{"name":"x","kind":"seconds","value":1.5}"#),
            (Value::Is(true), r#"{"name":"x","kind":"is","value":true}"#),
            (Value::Text("a \"b\"\n".into()), r#"{"name":"x","kind":"text","value":"a \"b\"\n"}"#),
        ];
        for (value, json) in values {
            let named = NamedValue { name: "x".into(), value: StateValue::of(value).unwrap() };
            assert_eq!(serde_json::to_string(&named).unwrap(), json);
            assert_eq!(serde_json::from_str::<NamedValue>(json).unwrap(), named);
        }
    }

    #[test]
    fn times_of_any_size_are_shown() {
        let shown = |seconds| StateValue::Seconds(seconds).to_string();
        assert_eq!([shown(0.0123), shown(-1.0), shown(1e300)], ["12.3ms", "-1 s", &format!("{} s", 1e300)]);
    }
}
