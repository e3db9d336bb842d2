//! The order of the list.

use super::row::Row;
use clap::ValueEnum;
use std::cmp::Ordering;

/// The column by which the connections are sorted. Numbers begin with the greatest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Sorting {
    /// Receptions per second.
    #[default]
    Received,
    /// Packets sent per second.
    Sent,
    /// Round-trip time.
    Rtt,
    /// Lost packets.
    Lost,
    /// Dropped messages.
    Dropped,
    /// Age.
    Age,
    /// Program, then the number of the connection.
    Program,
    /// Address of the peer.
    Peer,
    /// Stack.
    Stack,
}

impl Sorting {
    /// Returns the next column.
    pub(super) fn next(self) -> Self {
        let all = Self::value_variants();
        let own = all.iter().position(|other| *other == self).unwrap_or_default();
        all[(own + 1) % all.len()]
    }

    /// Sorts rows; equal ones by process and number, so that they do not jump.
    pub(super) fn sort(self, rows: &mut [Row], is_reversed: bool) {
        rows.sort_by(|one, other| {
            let order = self.compare(one, other);
            let order = if is_reversed { order.reverse() } else { order };
            order.then_with(|| one.key.cmp(&other.key))
        });
    }

    fn compare(self, one: &Row, other: &Row) -> Ordering {
        let number = |read: fn(&Row) -> Option<f64>| greatest_first(read(one), read(other));
        match self {
            Self::Received => number(|row| row.receive_rate),
            Self::Sent => number(|row| row.send_rate),
            Self::Rtt => number(|row| row.rtt_seconds),
            Self::Lost => number(|row| row.lost.map(|lost| lost as f64)),
            Self::Dropped => other.dropped.cmp(&one.dropped),
            Self::Age => number(|row| Some(row.age_seconds)),
            Self::Program => one.program.cmp(&other.program),
            Self::Peer => one.peer.cmp(&other.peer),
            Self::Stack => one.stack.cmp(&other.stack),
        }
    }
}

/// Compares numbers; those that are not known are the last.
fn greatest_first(one: Option<f64>, other: Option<f64>) -> Ordering {
    let known = |number: Option<f64>| number.unwrap_or(f64::NEG_INFINITY);
    known(other).total_cmp(&known(one))
}
