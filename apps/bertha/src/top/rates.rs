//! Rates between two looks at the connections.

use super::row::{Key, Row};
use std::collections::HashMap;
use std::time::Duration;

/// The totals of all connections at the last look.
#[derive(Debug, Default)]
pub(super) struct Rates {
    last: HashMap<Key, Totals>,
}

#[derive(Debug, Clone, Copy)]
struct Totals {
    received: Option<u64>,
    sent: Option<u64>,
}

impl Rates {
    /// Sets the rates of the rows since the last look, which was `elapsed` ago, and keeps their totals. A
    /// connection that is new has no rates yet.
    pub(super) fn set(&mut self, rows: &mut [Row], elapsed: Duration) {
        let mut totals = HashMap::with_capacity(rows.len());
        for row in rows {
            if let Some(last) = self.last.get(&row.key) {
                row.receive_rate = rate(last.received, row.received, elapsed);
                row.send_rate = rate(last.sent, row.sent, elapsed);
            }
            totals.insert(row.key, Totals { received: row.received, sent: row.sent });
        }
        self.last = totals;
    }
}

/// Returns `None` if a total is not known, or has begun anew since a layer was replaced.
fn rate(before: Option<u64>, now: Option<u64>, elapsed: Duration) -> Option<f64> {
    let gained = now?.checked_sub(before?)?;
    (!elapsed.is_zero()).then(|| gained as f64 / elapsed.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_needs_two_looks_and_a_total_that_has_not_begun_anew() {
        let second = Duration::from_secs(2);
        assert_eq!(rate(Some(10), Some(30), second), Some(10.0));
        assert_eq!(rate(Some(30), Some(10), second), None);
        assert_eq!(rate(None, Some(10), second), None);
        assert_eq!(rate(Some(10), None, second), None);
        assert_eq!(rate(Some(10), Some(30), Duration::ZERO), None);
    }
}
