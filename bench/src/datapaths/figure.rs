//! Latency at rising load over each datapath: the thesis's Figure 3.11.

use crate::baseline::kv_raw::Sample;
use crate::{Error, ErrorKind};
use bertha_ycsb::plot::{Scale, latency_by_load};
use bertha_ycsb::report::{Measured, Report, Row};
use std::path::Path;

/// What was measured over one datapath, with more and more requests on the way.
#[derive(Debug)]
pub struct Line {
    /// Over which datapath, and with which stack.
    pub label: String,
    /// A sample for each load.
    pub samples: Vec<Sample>,
}

impl Line {
    fn report(&self) -> Report {
        let runs = self.samples.iter().map(|sample| {
            let latency = &sample.latency;
            let total = Row {
                completed: 0,
                missing: 0,
                refused: 0,
                given_up: 0,
                p5: latency.p5_us,
                p25: latency.p25_us,
                p50: latency.p50_us,
                p75: latency.p75_us,
                p95: latency.p95_us,
                p99: latency.p99_us,
                max: latency.max_us,
            };
            Measured {
                offered: None,
                throughput: sample.requests_per_second,
                seconds: 0.0,
                total,
                kinds: Vec::new(),
                overdue: 0,
                retransmissions: sample.resent,
                ignored: 0,
                errors: Vec::new(),
            }
        });
        Report {
            label: self.label.clone(),
            workload: "B".into(),
            connections: Vec::new(),
            load: None,
            runs: runs.collect(),
        }
    }
}

/// Draws the lines into an SVG file.
///
/// # Errors
/// [`ErrorKind::Report`] when the file can't be written.
pub fn draw(lines: &[Line], file: &Path) -> Result<(), Error> {
    let reports: Vec<_> = lines.iter().map(Line::report).collect();
    std::fs::write(file, latency_by_load(&reports, Scale::Logarithmic))
        .map_err(Error::while_doing(ErrorKind::Report, "writing the figure"))
}
