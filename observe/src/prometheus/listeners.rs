//! The clients of listeners.

use super::families::Families;
use bertha_core::statistics::Value;
use bertha_negotiation::observing::ObservedListener;

/// Adds the counts of each listener. Two listeners at one address, as with `SO_REUSEPORT`, are told apart by
/// their numbers.
pub(super) fn add(listeners: &[ObservedListener], families: &mut Families) {
    for (index, listener) in listeners.iter().enumerate() {
        let mut address = listener.local.to_string();
        if listeners[..index].iter().any(|earlier| earlier.local == listener.local) {
            address = format!("{address} #{}", listener.number);
        }
        let values = listener.statistics.layers().flat_map(|layer| layer.values());
        values.for_each(|(name, value)| put(&address, name, &value, families));
    }
}

fn put(address: &str, name: &str, value: &Value, families: &mut Families) {
    let labels = &[("listener", address)];
    match (name.strip_prefix("refused_"), value) {
        (Some(reason), Value::Total(count)) => {
            let labels = &[labels[0], ("reason", reason)];
            families.counter(
                "bertha_listener_refused_total",
                "Clients that got no connection.",
                labels,
                *count,
            );
        }
        (_, Value::Total(count)) => {
            let help = format!("{} of a listener.", name.replace('_', " "));
            families.counter(&format!("bertha_listener_{name}_total"), &help, labels, *count);
        }
        (_, Value::Number(number)) => {
            let help = format!("{} of a listener at this moment.", name.replace('_', " "));
            families.gauge(&format!("bertha_listener_{name}"), &help, labels, *number as f64);
        }
        _ => {}
    }
}
