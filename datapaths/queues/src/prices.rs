//! The cost of calls.

use crate::Calls;
use std::fmt;

/// The prices of a service at a date. The application configures them, since they change, and differ between
/// regions and accounts.
///
/// ```
/// # use bertha_queues::{MemoryQueue, Prices, QueueConnection};
/// # fn report(connection: &QueueConnection<MemoryQueue>) {
/// // Calls are billed for each 64 KiB.
/// let prices = Prices::per_million_calls("USD", 0.40, "2022-03-01").call_unit(64 << 10);
/// println!("{}", connection.calls().cost(&prices));
/// # }
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Prices {
    currency: String,
    as_of: String,
    per_million_calls: f64,
    per_gigabyte: f64,
    call_unit: Option<u64>,
}

impl Prices {
    /// Creates a price for calls only, of every kind. `currency` and the date `as_of` are shown beside each
    /// cost.
    pub fn per_million_calls(currency: impl Into<String>, price: f64, as_of: impl Into<String>) -> Self {
        let currency = currency.into();
        let as_of = as_of.into();
        Self { currency, as_of, per_million_calls: price, per_gigabyte: 0.0, call_unit: None }
    }

    /// Adds a price for each gigabyte (10^9 bytes) that is published or received.
    #[must_use]
    pub fn per_gigabyte(self, price: f64) -> Self {
        Self { per_gigabyte: price, ..self }
    }

    /// Sets the unit of bytes by which a call is billed: a call with more bytes counts as several calls.
    #[must_use]
    pub fn call_unit(self, bytes: u64) -> Self {
        Self { call_unit: Some(bytes.max(1)), ..self }
    }
}

/// The cost of the calls of a connection, by a set of [`Prices`]. `{}` shows it on a single line.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Cost {
    /// The cost so far.
    pub total: f64,
    /// Number of messages that the cost covers: published messages and received messages.
    pub messages: u64,
    /// Cost of a million messages at this rate, published, or received and acknowledged; `None` without
    /// messages.
    pub per_million_messages: Option<f64>,
    /// Currency of the cost.
    pub currency: String,
    /// Date of the prices.
    pub as_of: String,
}

impl Calls {
    /// Returns the cost of these calls. Only the sum of bytes is known, and not the bytes of each call, so
    /// the number of calls that count as several is a lower estimate.
    pub fn cost(&self, prices: &Prices) -> Cost {
        let billed =
            |calls: u64, bytes: u64| calls.max(prices.call_unit.map_or(0, |unit| bytes.div_ceil(unit)));
        let calls = billed(self.publish, self.published_bytes)
            + billed(self.receive, self.received_bytes)
            + self.acknowledge
            + self.give_back;
        let bytes = self.published_bytes + self.received_bytes;
        let total = calls as f64 * prices.per_million_calls / 1e6 + bytes as f64 * prices.per_gigabyte / 1e9;
        let messages = self.published + self.received;
        let per_million_messages = (messages > 0).then(|| total * 1e6 / messages as f64);
        let currency = prices.currency.clone();
        let as_of = prices.as_of.clone();
        Cost { total, messages, per_million_messages, currency, as_of }
    }
}

impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { total, messages, per_million_messages, currency, as_of } = self;
        write!(f, "{total:.6} {currency} for {messages} messages")?;
        if let Some(price) = per_million_messages {
            write!(f, ", {price:.4} {currency} for a million")?;
        }
        write!(f, " (prices of {as_of})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calls() -> Calls {
        Calls {
            publish: 100,
            receive: 40,
            acknowledge: 10,
            published: 1000,
            published_bytes: 6_400_000,
            ..Calls::default()
        }
    }

    #[test]
    fn a_million_messages_cost_as_much_as_their_calls() {
        let cost = calls().cost(&Prices::per_million_calls("USD", 0.4, "2022-03-01"));
        assert_eq!(cost.total, 0.000_06);
        assert_eq!(
            cost.to_string(),
            "0.000060 USD for 1000 messages, 0.0600 USD for a million (prices of 2022-03-01)"
        );
    }

    #[test]
    fn bytes_cost_by_themselves_or_make_a_call_count_as_several() {
        let prices = Prices::per_million_calls("USD", 1.0, "2022-03-01");
        let close = |a: f64, b: f64| (a - b).abs() < 1e-12;
        assert!(close(calls().cost(&prices.clone().per_gigabyte(40.0)).total, 150e-6 + 0.256));
        // The bytes make 200 units of 32,000 bytes in place of 100 calls.
        assert!(close(calls().cost(&prices.clone().call_unit(32_000)).total, 250e-6));
        assert!(close(calls().cost(&prices.call_unit(1_000_000)).total, 150e-6));
    }

    #[test]
    fn nothing_costs_nothing() {
        let cost = Calls::default().cost(&Prices::per_million_calls("USD", 0.4, "2022-03-01"));
        assert_eq!((cost.total, cost.per_million_messages), (0.0, None));
        assert_eq!(cost.to_string(), "0.000000 USD for 0 messages (prices of 2022-03-01)");
    }
}
