//! The rows of a program: a table on the terminal, `target/bench/NAME.json`, and the page with all of them.

mod directory;
mod machine;
mod managed;
mod page;
mod table;
mod thesis;

pub(crate) use directory::of_reports as directory;
pub(crate) use machine::Machine;
pub(crate) use page::{Section, write as write_page};

use crate::harness::{Paired, Ratio, median, ratio_of_medians};
use crate::{Error, ErrorKind};
use serde::{Deserialize, Serialize};

/// A figure.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Row {
    /// The measured quantity.
    pub(crate) name: String,
    /// The figure, which is the median of several samples. `None` when the measurement was skipped; then the
    /// name has the reason.
    pub(crate) value: Option<f64>,
    /// Both ends of the 95 % confidence interval, if there is one.
    pub(crate) interval: Option<(f64, f64)>,
    /// The unit of the value, the interval and the bound.
    pub(crate) unit: String,
    /// The budget of the value.
    pub(crate) budget: Option<Budget>,
}

/// A bound on a figure.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) enum Budget {
    /// The figure may reach this value and no more.
    AtMost(f64),
    /// The figure has to reach this value.
    AtLeast(f64),
    /// The figure has to lie between these values, or reach one of them: beyond the wrong one it was not measured.
    Between(f64, f64),
}

impl Budget {
    /// Returns true if a value keeps the bound. Not-a-number never does.
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(bound) => value <= bound,
            Self::AtLeast(bound) => value >= bound,
            Self::Between(low, high) => (low..=high).contains(&value),
        }
    }
}

impl Row {
    /// Returns true if the value keeps its budget; `None` without a value or a budget. The interval does not
    /// matter.
    pub(crate) fn is_kept(&self) -> Option<bool> {
        Some(self.budget?.holds(self.value?))
    }

    /// Returns true if the interval lies on both sides of the budget, or ends at it: the next run may judge otherwise.
    pub(crate) fn is_close(&self) -> bool {
        let Some((low, high)) = self.interval else { return false };
        let is_inside = |bound: f64| low <= bound && bound <= high;
        self.budget.is_some_and(|budget| match budget {
            Budget::AtMost(bound) | Budget::AtLeast(bound) => is_inside(bound),
            Budget::Between(least, most) => is_inside(least) || is_inside(most),
        })
    }
}

/// The rows of a program.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Report {
    name: String,
    rows: Vec<Row>,
    /// True if few samples were taken.
    is_quick: bool,
    /// Date and commit of the measurement.
    #[serde(default)]
    origin: String,
    /// Names of the drawn figures, in the directory of the report.
    drawings: Vec<String>,
}

impl Report {
    /// Creates an empty report; `name` is the program's.
    pub(crate) fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            rows: Vec::new(),
            is_quick: false,
            origin: String::new(),
            drawings: Vec::new(),
        }
    }

    /// Adds a figure without a budget.
    pub(crate) fn figure(&mut self, name: impl Into<String>, value: f64, unit: &str) {
        self.push(name.into(), Some(value), None, unit, None);
    }

    /// Adds a figure with a budget.
    pub(crate) fn bounded(&mut self, name: impl Into<String>, value: f64, unit: &str, budget: Budget) {
        self.push(name.into(), Some(value), None, unit, Some(budget));
    }

    /// Adds the median of some samples.
    pub(crate) fn median<S>(
        &mut self,
        name: impl Into<String>,
        samples: &[S],
        number: impl Fn(&S) -> f64,
        unit: &str,
    ) {
        let numbers: Vec<_> = samples.iter().map(number).collect();
        self.push(name.into(), median(&numbers), None, unit, None);
    }

    /// Adds a ratio with its interval.
    pub(crate) fn ratio(&mut self, name: impl Into<String>, ratio: Option<Ratio>, budget: Option<Budget>) {
        let interval = ratio.map(|ratio| (ratio.low, ratio.high));
        // A ratio without samples is a figure that keeps no budget.
        let value = ratio.map_or(f64::NAN, |ratio| ratio.estimate);
        self.push(name.into(), Some(value), interval, "x", budget);
    }

    /// Adds the ratio of B to A by a number of their samples, and beside it the ratio of A to itself, which
    /// is the noise.
    pub(crate) fn compare<S>(
        &mut self,
        name: &str,
        paired: &Paired<S>,
        number: impl Fn(&S) -> f64,
        budget: Option<Budget>,
    ) {
        let turned = |pairs: &[(S, S)]| {
            let pairs: Vec<_> = pairs.iter().map(|(a, other)| (number(other), number(a))).collect();
            ratio_of_medians(&pairs, 0)
        };
        self.ratio(name, turned(&paired.ab), budget);
        self.ratio(format!("{name}: the noise, one of them to itself"), turned(&paired.aa), None);
    }

    /// Adds a row with the reason why a measurement is impossible here.
    pub(crate) fn skip(&mut self, name: &str, reason: &str) {
        self.push(format!("{name} (skipped: {reason})"), None, None, "", None);
    }

    /// Returns the outcome of a measurement, or `None` and a skipped row if this machine lacks a requirement:
    /// cores, or valgrind outside of CI.
    ///
    /// # Errors
    /// Any other error of the measurement.
    pub(crate) fn unless_impossible<T>(
        &mut self,
        name: &str,
        measured: Result<T, Error>,
    ) -> Result<Option<T>, Error> {
        let in_ci = std::env::var("CI").is_ok_and(|value| value == "true");
        match measured {
            Ok(measured) => Ok(Some(measured)),
            Err(error)
                if error.kind() == ErrorKind::Core || (error.kind() == ErrorKind::NoValgrind && !in_ci) =>
            {
                self.skip(name, &error.to_string());
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Adds a count of instructions, unless it was impossible, and returns it.
    ///
    /// # Errors
    /// Errors of [`unless_impossible`](Self::unless_impossible).
    pub(crate) fn count(&mut self, name: &str, counted: Result<f64, Error>) -> Result<Option<f64>, Error> {
        let counted = self.unless_impossible(name, counted)?;
        if let Some(count) = counted {
            self.figure(name, count, "instructions");
        }
        Ok(counted)
    }

    /// Writes a figure into the directory of reports, for the page to show.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] when it can't be drawn or written.
    pub(crate) fn draw(
        &mut self,
        name: &str,
        drawn: Result<String, bertha_plot::PlotError>,
    ) -> Result<(), Error> {
        let drawn = drawn.map_err(Error::while_doing(ErrorKind::Report, format!("drawing {name}")))?;
        directory::write(name, drawn.as_bytes())?;
        self.drawings.push(name.to_owned());
        Ok(())
    }

    /// Adds rows that another process has made.
    #[cfg(feature = "caladan")]
    pub(crate) fn extend(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
    }

    /// Returns the rows so far.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Returns true if no row misses its budget.
    pub(crate) fn is_within_budget(&self) -> bool {
        self.rows.iter().all(|row| row.is_kept() != Some(false))
    }

    /// Prints the table and writes the file.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] when the file can't be written.
    pub(crate) fn publish(mut self, is_quick: bool) -> Result<Self, Error> {
        table::print(&self.rows);
        (self.is_quick, self.origin) = (is_quick, machine::date_and_commit());
        let json = serde_json::to_vec_pretty(&self)
            .map_err(Error::while_doing(ErrorKind::Report, "encoding the rows"))?;
        directory::write(&format!("{}.json", self.name), &json)?;
        Ok(self)
    }

    /// Returns the report that a program has published, if it was of a full run: a quick run has too few samples for the page.
    ///
    /// # Errors
    /// [`ErrorKind::Report`] when there is none.
    fn published(name: &str) -> Result<Self, Error> {
        let path = directory().join(format!("{name}.json"));
        let report: Self = std::fs::read(&path)
            .and_then(|json| serde_json::from_slice(&json).map_err(std::io::Error::from))
            .map_err(Error::while_doing(ErrorKind::Report, format!("reading {}", path.display())))?;
        if report.is_quick {
            return Err(Error::new(ErrorKind::Report, format!("{} is of a quick run", path.display())));
        }
        Ok(report)
    }

    fn push(
        &mut self,
        name: String,
        value: Option<f64>,
        interval: Option<(f64, f64)>,
        unit: &str,
        budget: Option<Budget>,
    ) {
        self.rows.push(Row { name, value, interval, unit: unit.to_owned(), budget });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_judged_by_its_median() {
        let kept = |budget| {
            let mut report = Report::new("interval");
            report.ratio("r", Some(Ratio { estimate: 0.95, low: 0.93, high: 0.98 }), Some(budget));
            assert_eq!(report.rows()[0].interval, Some((0.93, 0.98)));
            report.is_within_budget()
        };
        assert!(kept(Budget::AtLeast(0.95)) && kept(Budget::AtMost(0.95)));
        assert!(!kept(Budget::AtLeast(0.97)), "the favourable end of the interval is no excuse");
        assert!(!kept(Budget::AtMost(0.94)));
        assert!(kept(Budget::Between(0.95, 1.0)) && kept(Budget::Between(0.9, 0.95)));
        assert!(!kept(Budget::Between(0.96, 1.0)) && !kept(Budget::Between(0.9, 0.94)));
    }

    #[test]
    fn a_budget_within_the_interval_is_close() {
        let mut report = Report::new("interval");
        for budget in [Budget::AtLeast(0.98), Budget::AtMost(0.94), Budget::AtMost(0.92)] {
            report.ratio("r", Some(Ratio { estimate: 0.95, low: 0.93, high: 0.98 }), Some(budget));
        }
        assert_eq!(report.rows().iter().map(Row::is_close).collect::<Vec<_>>(), [true, true, false]);
    }

    #[test]
    fn not_a_number_keeps_no_budget() {
        for budget in [Budget::AtMost(1.0), Budget::AtLeast(1.0)] {
            let mut report = Report::new("r");
            report.ratio("no samples", None, Some(budget));
            assert!(!report.is_within_budget());
        }
    }

    #[test]
    fn a_comparison_puts_the_second_over_the_first_and_shows_the_noise() {
        let mut report = Report::new("r");
        report.compare("b to a", &Paired { ab: vec![(2.0, 3.0)], aa: vec![(2.0, 2.0)] }, |it| *it, None);
        let values: Vec<_> = report.rows().iter().map(|row| row.value).collect();
        assert_eq!(values, [Some(1.5), Some(1.0)]);
    }
}
