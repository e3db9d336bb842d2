//! The latency of a store by load.

use super::{Sample, Setup, figures};
use crate::Error;
use crate::harness::Effort;
use crate::report::Report;
use bertha_plot::{Line, Point};
use serde::{Deserialize, Serialize};

/// The runs of a store, in the order of their loads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Curve {
    name: String,
    /// The number of requests in flight, and the sample in the middle.
    points: Vec<(usize, Sample)>,
}

impl Curve {
    /// Runs a store at each load, a few times.
    ///
    /// # Errors
    /// Errors of a run.
    pub(crate) fn of(
        name: impl Into<String>,
        setups: impl IntoIterator<Item = Setup>,
        effort: Effort,
        mut run: impl FnMut(&Setup) -> Result<Sample, Error>,
    ) -> Result<Self, Error> {
        let mut points = Vec::new();
        for setup in setups {
            let samples = (0..effort.pick(5, 2)).map(|_| run(&setup));
            let mut samples = samples.collect::<Result<Vec<_>, _>>()?;
            samples.sort_by(|a, b| a.requests_per_second.total_cmp(&b.requests_per_second));
            points.push((setup.in_flight, samples[samples.len() / 2]));
        }
        Ok(Self { name: name.into(), points })
    }

    /// Adds the rows of all loads.
    pub(crate) fn add_to(&self, report: &mut Report) {
        for (in_flight, sample) in &self.points {
            figures(&format!("{}, {in_flight} in flight", self.name), &[*sample], report);
        }
    }

    /// Returns the line of a drawing.
    pub(crate) fn line(&self) -> Line {
        let point = |(_, sample): &(usize, Sample)| {
            let latency = sample.latency;
            Point { load: sample.requests_per_second, p50: latency.p50_us, p95: latency.p95_us }
        };
        Line { label: self.name.clone(), points: self.points.iter().map(point).collect() }
    }
}
