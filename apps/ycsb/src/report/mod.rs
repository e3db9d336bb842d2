//! The results of a benchmark, in the form that is written to a file.

mod table;

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::driver::Phased;
use crate::measure::Tally;
use crate::workload::Kind;
use bertha_plot::{Line, Point};

pub use table::Table;

/// The results of an invocation: the points of a line in a plot.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Name of the line.
    pub label: String,
    /// File or name of the workload.
    pub workload: String,
    /// The way in which each connection reaches the store.
    pub connections: Vec<Negotiated>,
    /// The load phase, if there was one.
    pub load: Option<Measured>,
    /// The runs, a run for each offered load.
    pub runs: Vec<Measured>,
}

/// The outcome of the negotiation on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Negotiated {
    /// The datapath stack, top first.
    pub stack: String,
    /// The reason for this stack.
    pub reason: String,
}

/// The results of a phase.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Measured {
    /// Offered operations per second over all connections; `None` is a closed loop.
    pub offered: Option<f64>,
    /// Operations answered per second.
    pub throughput: f64,
    /// Duration in seconds.
    pub seconds: f64,
    /// Figures of all operations together.
    pub total: Row,
    /// Figures of each kind that occurred.
    pub kinds: Vec<(Kind, Row)>,
    /// Number of operations that were due and never begun.
    pub overdue: u64,
    /// Number of messages sent again.
    pub retransmissions: u64,
    /// Number of messages that answered nothing, most of them second replies.
    pub ignored: u64,
    /// Reasons why connections ended early: the number of the connection, and the error.
    pub errors: Vec<(usize, String)>,
    /// Likely reasons why requests were given up: the number of the connection, and the last error that it
    /// has survived.
    #[serde(default)]
    pub troubles: Vec<(usize, String)>,
}

/// Counts, and latencies in microseconds from the intended send time.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[expect(missing_docs, reason = "the names say it all")]
pub struct Row {
    pub completed: u64,
    pub missing: u64,
    pub refused: u64,
    pub given_up: u64,
    /// Number of records that scans have read.
    #[serde(default)]
    pub scanned: u64,
    pub p5: f64,
    pub p25: f64,
    pub p50: f64,
    pub p75: f64,
    pub p95: f64,
    pub p99: f64,
    pub max: f64,
}

impl Measured {
    /// Summarises a phase with `offered` operations per second.
    pub fn new(offered: Option<f64>, phased: &Phased) -> Self {
        let measurements = phased.measurements();
        let sum = |count: fn(&crate::driver::Part) -> u64| phased.parts.iter().map(count).sum();
        let parts = || phased.parts.iter().enumerate();
        Self {
            offered,
            throughput: phased.throughput(),
            seconds: phased.elapsed().as_secs_f64(),
            total: Row::new(&measurements.total()),
            kinds: measurements.kinds().map(|(kind, tally)| (kind, Row::new(tally))).collect(),
            overdue: sum(|part| part.overdue),
            retransmissions: sum(|part| part.retransmissions),
            ignored: sum(|part| part.ignored),
            errors: parts().filter_map(|(i, part)| Some((i, chain(part.error.as_ref()?)))).collect(),
            troubles: parts().filter_map(|(i, part)| Some((i, part.trouble.clone()?))).collect(),
        }
    }
}

impl Measured {
    fn is_unanswered(&self) -> bool {
        let Row { completed, missing, refused, given_up, .. } = self.total;
        given_up > 0 && completed + missing + refused == 0
    }
}

impl Row {
    /// Summarises operations.
    pub fn new(tally: &Tally) -> Self {
        let at = |per_cent| tally.percentile(per_cent).as_secs_f64() * 1e6;
        Self {
            completed: tally.completed,
            missing: tally.missing,
            refused: tally.refused,
            given_up: tally.given_up,
            scanned: tally.scanned,
            p5: at(5.0),
            p25: at(25.0),
            p50: at(50.0),
            p75: at(75.0),
            p95: at(95.0),
            p99: at(99.0),
            max: tally.longest().as_secs_f64() * 1e6,
        }
    }
}

impl Report {
    /// Returns the reason why the figures do not describe the whole workload, with the first error behind it:
    /// a load phase that did not write all of `records`, a connection that ended early, or a run of which no
    /// operation was answered. Returns `None` if the figures do.
    pub fn shortcoming(&self, records: u64) -> Option<String> {
        let written = self.load.as_ref().map_or(records, |load| load.total.completed);
        if written < records {
            let what = format!("the load is incomplete: {written} of {records} records were written");
            return Some(self.with_reason(what));
        }
        let phases = || self.load.iter().chain(&self.runs);
        if self.runs.iter().any(Measured::is_unanswered) {
            return Some(self.with_reason("the store answered no operation of a run".into()));
        }
        let ended = phases().flat_map(|phase| &phase.errors).map(|(connection, _)| connection);
        let ended: BTreeSet<_> = ended.collect();
        (!ended.is_empty()).then(|| {
            let what = format!("{} of {} connections ended early", ended.len(), self.connections.len());
            self.with_reason(what)
        })
    }

    /// Adds the first error of a connection.
    fn with_reason(&self, what: String) -> String {
        let phases = || self.load.iter().chain(&self.runs);
        let errors = phases().flat_map(|phase| &phase.errors);
        match errors.chain(phases().flat_map(|phase| &phase.troubles)).next() {
            Some((connection, error)) => format!("{what}; connection {connection}: {error}"),
            None => what,
        }
    }

    /// Joins the runs of reports with a common label, each under the first of them. So the loads of two lines
    /// can be measured in turn, and other work of the machine meanwhile affects both alike.
    pub fn joined(reports: impl IntoIterator<Item = Self>) -> Vec<Self> {
        let mut joined: Vec<Self> = Vec::new();
        for report in reports {
            match joined.iter_mut().find(|first| first.label == report.label) {
                Some(first) => first.runs.extend(report.runs),
                None => joined.push(report),
            }
        }
        joined
    }

    /// Returns the line of this report in a figure. A run in a closed loop is drawn at the load that it
    /// reached.
    pub fn line(&self) -> Line {
        let points = self.runs.iter().map(|run| Point {
            load: run.offered.unwrap_or(run.throughput),
            p50: run.total.p50,
            p95: run.total.p95,
        });
        let mut points: Vec<_> = points.collect();
        points.sort_by(|a, b| a.load.total_cmp(&b.load));
        Line { label: self.label.clone(), points }
    }

    /// Reads a report that [`Report::write`] wrote.
    ///
    /// # Errors
    /// [`ReportError`], which names the file.
    pub fn read(path: &Path) -> Result<Self, ReportError> {
        let text = std::fs::read_to_string(path).map_err(|source| ReportError::io(path, source))?;
        serde_json::from_str(&text)
            .map_err(|source| ReportError::Malformed { path: path.display().to_string(), source })
    }

    /// Writes the report as JSON.
    ///
    /// # Errors
    /// [`ReportError`], which names the file.
    pub fn write(&self, path: &Path) -> Result<(), ReportError> {
        let text = serde_json::to_string_pretty(self)
            .map_err(|source| ReportError::Malformed { path: path.display().to_string(), source })?;
        std::fs::write(path, text + "\n").map_err(|source| ReportError::io(path, source))
    }
}

/// The reason why a report could not be read or written.
#[derive(Debug)]
#[expect(missing_docs, reason = "the names say it all")]
pub enum ReportError {
    /// The system refused.
    Io { path: String, source: std::io::Error },
    /// The file is not a report.
    Malformed { path: String, source: serde_json::Error },
}

impl ReportError {
    pub(crate) fn io(path: &Path, source: std::io::Error) -> Self {
        Self::Io { path: path.display().to_string(), source }
    }
}

impl fmt::Display for ReportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io { path, .. } => write!(f, "cannot read or write {path}"),
            Self::Malformed { path, .. } => write!(f, "{path} is not a report of `ycsb run --json`"),
        }
    }
}

impl std::error::Error for ReportError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Malformed { source, .. } => Some(source),
        }
    }
}

/// Returns an error and its causes in a single line, without causes that an error repeats in its own text.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let reason = error.to_string();
        if !text.contains(&reason) {
            text.push_str(": ");
            text.push_str(&reason);
        }
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
