//! The program `bertha-bench instructions`: the counted rows, quick enough for every change, against the
//! stored counts.
//!
//! The file `bench/instructions.json` has the counts of an earlier state of the sources, stored by `--store`;
//! a count that grew by more than 2 % is a regression.

use crate::figures::passes;
use crate::harness::Effort;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind, echo, kv, overhead};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// The counts to compare with.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// Store the counts instead of comparing them
    #[arg(long)]
    store: bool,
}

/// Growth that is not noise: a count differs from a build to the next by the compiler's inlining.
const GROWTH: f64 = 1.02;

/// End of the names of rows that compare with a stored count.
const TO_STORED: &str = ", to the stored count";

/// Returns true if a count has grown by more than noise. A budget that is missed is a figure; a growth is a
/// failure.
pub(crate) fn has_grown(report: &Report) -> bool {
    report.rows().iter().any(|row| row.name.ends_with(TO_STORED) && row.is_kept() == Some(false))
}

/// Counts the rows.
///
/// # Errors
/// Errors of the counter; [`ErrorKind::Report`] when the stored counts can't be read or written.
pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut counted = Report::new("instructions");
    let effort = Effort::Quick;
    kv::instructions(&mut counted, 20_000)?;
    echo::instructions(&mut counted, 2_000)?;
    overhead::instructions(&mut counted, 2_000, effort.pick(&overhead::DEPTHS, &[0, 16]))?;
    overhead::stranger(&mut counted, 2_000)?;
    overhead::qlog(&mut counted, 1_000)?;
    passes::instructions(&mut counted, 2_000, &[overhead::Path::Memory])?;
    #[cfg(feature = "managed")]
    crate::figures::managed::instructions(&mut counted, 1_280)?;
    let counts = counted.rows().iter().filter(|row| row.unit == "instructions" && row.budget.is_none());
    let counts: BTreeMap<_, _> = counts.filter_map(|row| Some((row.name.clone(), row.value?))).collect();
    if options.store {
        store(&counts)?;
    } else {
        for (name, before) in stored()? {
            match counts.get(&name) {
                Some(count) => {
                    let growth = count / before;
                    counted.bounded(format!("{name}{TO_STORED}"), growth, "x", Budget::AtMost(GROWTH));
                }
                None => counted.skip(&name, "not counted here"),
            }
        }
    }
    Ok(counted)
}

fn path() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("instructions.json")
}

/// Returns the stored counts; the map is empty if none were stored yet.
fn stored() -> Result<BTreeMap<String, f64>, Error> {
    if !path().exists() {
        return Ok(BTreeMap::new());
    }
    std::fs::read(path())
        .and_then(|json| serde_json::from_slice(&json).map_err(std::io::Error::from))
        .map_err(Error::while_doing(ErrorKind::Report, format!("reading {}", path().display())))
}

fn store(counts: &BTreeMap<String, f64>) -> Result<(), Error> {
    let rounded: BTreeMap<_, _> = counts.iter().map(|(name, count)| (name, count.round())).collect();
    serde_json::to_string_pretty(&rounded)
        .map_err(std::io::Error::from)
        .and_then(|json| std::fs::write(path(), json + "\n"))
        .map_err(Error::while_doing(ErrorKind::Report, format!("writing {}", path().display())))
}
