//! What a subcommand found: a table on the terminal, and rows in `target/bench/NAME.json`.

mod directory;
mod table;

use crate::statistics::Ratio;
use crate::{Error, ErrorKind};
use serde::Serialize;
use std::path::PathBuf;

/// One figure.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// What was measured.
    pub name: String,
    /// The figure; `None` when the measurement was skipped, and then the name says why.
    pub value: Option<f64>,
    /// The unit of the value and of the budget.
    pub unit: String,
    /// The bound that the value has to keep, if there is one.
    pub budget: Option<f64>,
    /// Whether it keeps it; `None` without a budget or without a value.
    pub ok: Option<bool>,
}

/// A bound on a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Budget {
    /// The figure may reach this and no more.
    AtMost(f64),
    /// The figure has to reach this.
    AtLeast(f64),
}

impl Budget {
    /// The bound itself.
    pub fn bound(self) -> f64 {
        match self {
            Self::AtMost(bound) | Self::AtLeast(bound) => bound,
        }
    }

    /// Whether a value keeps the bound. Not-a-number never does.
    pub fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
        }
    }
}

/// Where reports go, and whatever a measurement needs on disk.
pub fn directory() -> PathBuf {
    directory::of_reports()
}

/// The rows of one subcommand.
#[derive(Clone, Debug)]
pub struct Report {
    name: &'static str,
    rows: Vec<Row>,
}

impl Report {
    /// An empty report; `name` names the file.
    pub fn new(name: &'static str) -> Self {
        Self { name, rows: Vec::new() }
    }

    /// Adds a figure without a budget.
    pub fn figure(&mut self, name: impl Into<String>, value: f64, unit: &str) {
        self.push(name.into(), Some(value), unit, None);
    }

    /// Adds a figure that has to keep a budget.
    pub fn bounded(&mut self, name: impl Into<String>, value: f64, unit: &str, budget: Budget) {
        self.push(name.into(), Some(value), unit, Some(budget));
    }

    /// Adds a ratio: its estimate, and both ends of its interval.
    ///
    /// A budget is held against the end that is nearer to keeping it: the interval has to reach the bound.
    pub fn ratio(&mut self, name: &str, ratio: &Ratio, budget: Option<Budget>) {
        let (low, high) = match budget {
            Some(Budget::AtMost(_)) => (budget, None),
            Some(Budget::AtLeast(_)) => (None, budget),
            None => (None, None),
        };
        self.push(name.to_owned(), Some(ratio.estimate), "x", None);
        self.push(format!("{name}, low end"), Some(ratio.low), "x", low);
        self.push(format!("{name}, high end"), Some(ratio.high), "x", high);
    }

    /// Adds a row that says what could not be measured here, and why.
    pub fn skipped(&mut self, name: &str, why: &str, unit: &str) {
        self.push(format!("{name} (skipped: {why})"), None, unit, None);
    }

    /// Adds a count of instructions per operation, or a skipped row where valgrind is missing.
    ///
    /// # Errors
    /// The error of the count; a missing valgrind is one only where the variable `CI` is `true`.
    pub fn instructions(&mut self, name: &str, counted: Result<f64, Error>) -> Result<(), Error> {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        match counted {
            Ok(count) => self.figure(name, count, "instructions"),
            Err(error) if error.kind() == ErrorKind::NoValgrind && !in_ci => {
                self.skipped(name, &error.to_string(), "instructions");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The rows so far.
    pub fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Whether no row misses its budget.
    pub fn is_within_budget(&self) -> bool {
        self.rows.iter().all(|row| row.ok != Some(false))
    }

    /// Prints the table and writes the file; returns where it was written.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] when the file cannot be written.
    pub fn publish(&self) -> Result<PathBuf, Error> {
        table::print(&self.rows);
        let directory = directory::of_reports();
        let path = directory.join(self.name).with_extension("json");
        serde_json::to_vec_pretty(&self.rows)
            .map_err(std::io::Error::from)
            .and_then(|json| std::fs::create_dir_all(&directory).map(|()| json))
            .and_then(|json| std::fs::write(&path, json))
            .map_err(Error::while_doing(ErrorKind::Report, format!("writing {}", path.display())))?;
        Ok(path)
    }

    fn push(&mut self, name: String, value: Option<f64>, unit: &str, budget: Option<Budget>) {
        let ok = value.zip(budget).map(|(value, budget)| budget.holds(value));
        self.rows.push(Row { name, value, unit: unit.to_owned(), budget: budget.map(Budget::bound), ok });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_published_form() {
        let mut report = Report::new("form");
        report.figure("speed", 2.5, "ops/s");
        report.bounded("cost", 3.0, "instructions", Budget::AtMost(2.0));
        report.skipped("depth", "no ruler", "m");
        let json: serde_json::Value = serde_json::to_value(report.rows()).unwrap();
        let expected = serde_json::json!([
            {"name": "speed", "value": 2.5, "unit": "ops/s", "budget": null, "ok": null},
            {"name": "cost", "value": 3.0, "unit": "instructions", "budget": 2.0, "ok": false},
            {"name": "depth (skipped: no ruler)", "value": null, "unit": "m", "budget": null, "ok": null},
        ]);
        assert_eq!(json, expected);
        assert!(!report.is_within_budget());
    }

    #[test]
    fn an_interval_keeps_a_budget_when_it_reaches_it() {
        let ratio = Ratio { estimate: 0.95, low: 0.93, high: 0.98 };
        let within = |budget| {
            let mut report = Report::new("interval");
            report.ratio("r", &ratio, Some(budget));
            report.is_within_budget()
        };
        assert!(within(Budget::AtLeast(0.97)));
        assert!(!within(Budget::AtLeast(0.99)));
        assert!(within(Budget::AtMost(0.94)));
        assert!(!within(Budget::AtMost(0.92)));
    }

    #[test]
    fn not_a_number_keeps_no_budget() {
        assert!(!Budget::AtMost(1.0).holds(f64::NAN));
        assert!(!Budget::AtLeast(1.0).holds(f64::NAN));
    }
}
