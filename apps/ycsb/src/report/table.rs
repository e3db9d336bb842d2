//! A report for human readers.

use std::fmt;

use super::{Measured, Negotiated, Report, Row};

/// Shows a report as text, latencies in microseconds.
#[derive(Debug)]
pub struct Table<'a>(pub &'a Report);

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let report = self.0;
        writeln!(f, "{}: {}", report.label, report.workload)?;
        write_connections(f, &report.connections)?;
        if let Some(load) = &report.load {
            write_phase(f, "load", load)?;
        }
        report.runs.iter().try_for_each(|run| write_phase(f, "run", run))
    }
}

/// Writes a line for each run of connections with equal negotiations.
fn write_connections(f: &mut fmt::Formatter<'_>, connections: &[Negotiated]) -> fmt::Result {
    let mut first = 0;
    for group in connections.chunk_by(|a, b| a == b) {
        let last = first + group.len() - 1;
        if last > first {
            write!(f, "connections {first} to {last}: ")?;
        } else {
            write!(f, "connection {first}: ")?;
        }
        writeln!(f, "{} ({})", group[0].stack, group[0].reason)?;
        first = last + 1;
    }
    Ok(())
}

fn write_phase(f: &mut fmt::Formatter<'_>, name: &str, phase: &Measured) -> fmt::Result {
    let offered = phase.offered.map_or("closed loop".to_owned(), |rate| format!("offered {rate:.0}/s"));
    writeln!(f, "\n{name}, {offered}: {:.0} operations/s for {:.2} s", phase.throughput, phase.seconds)?;
    writeln!(
        f,
        "  {:<18}{:>10}{:>9}{:>9}{:>9}{:>9}{:>9}{:>9}{:>10}",
        "latency in us", "answered", "p5", "p25", "p50", "p75", "p95", "p99", "max"
    )?;
    for (kind, row) in &phase.kinds {
        write_row(f, kind.name(), row)?;
    }
    if phase.kinds.len() != 1 {
        write_row(f, "total", &phase.total)?;
    }
    if phase.total.scanned > 0 {
        let per_second = phase.total.scanned as f64 / phase.seconds;
        writeln!(f, "  {} records were read by scans, {per_second:.0}/s", phase.total.scanned)?;
    }
    write_troubles(f, phase)
}

fn write_row(f: &mut fmt::Formatter<'_>, name: &str, row: &Row) -> fmt::Result {
    let answered = row.completed + row.missing + row.refused;
    write!(f, "  {name:<18}{answered:>10}")?;
    for latency in [row.p5, row.p25, row.p50, row.p75, row.p95, row.p99] {
        write!(f, "{latency:>9.1}")?;
    }
    writeln!(f, "{:>10.1}", row.max)
}

/// Writes all problems; nothing if there are none.
fn write_troubles(f: &mut fmt::Formatter<'_>, phase: &Measured) -> fmt::Result {
    for (count, text) in [
        (phase.total.missing, "found no record"),
        (phase.total.refused, "were refused by the store"),
        (phase.total.given_up, "were given up without an answer"),
        (phase.overdue, "were due, and not sent before the end"),
    ] {
        if count > 0 {
            writeln!(f, "  {count} operations {text}")?;
        }
    }
    if phase.retransmissions + phase.ignored > 0 {
        let again = phase.retransmissions;
        let ignored = phase.ignored;
        writeln!(f, "  {again} messages were sent again, {ignored} answered nothing that waited")?;
    }
    phase
        .troubles
        .iter()
        .try_for_each(|(i, error)| writeln!(f, "  connection {i} lived on, with this error last: {error}"))?;
    phase.errors.iter().try_for_each(|(i, error)| writeln!(f, "  connection {i} ended early: {error}"))
}
