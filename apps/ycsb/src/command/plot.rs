//! The subcommand `ycsb plot`.

use std::path::PathBuf;

use bertha_plot::{Scale, latency_by_load};
use bertha_ycsb::report::Report;

use super::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Plot {
    /// Reports written by `ycsb run --json`; reports with a common label make a single line.
    #[arg(value_name = "FILE", required = true)]
    reports: Vec<PathBuf>,
    /// The SVG file to write.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Divides the latency axis evenly instead of logarithmically.
    #[arg(long)]
    linear: bool,
}

impl Plot {
    pub(crate) fn execute(self) -> Result<(), Failure> {
        let reports = self.reports.iter().map(|path| Report::read(path)).collect::<Result<Vec<_>, _>>()?;
        let reports = Report::joined(reports);
        let scale = if self.linear { Scale::Linear } else { Scale::Logarithmic };
        write(&self.output, &latency_by_load(&reports.iter().map(Report::line).collect::<Vec<_>>(), scale)?)
    }
}

/// Writes `text` to `path`.
pub(super) fn write(path: &std::path::Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| format!("cannot write {}: {error}", path.display()).into())
}
