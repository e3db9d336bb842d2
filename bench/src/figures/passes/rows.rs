//! The rows of passes.

use super::{Case, PATHS, Stack};
use crate::harness::{Counter, Effort};
use crate::overhead::{Call, Path};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};

/// Budget of instructions after passes against the stack written by hand.
const OPTIMISED: Budget = Budget::AtMost(1.01);

/// Budget of passes that match nowhere: they add nothing. A tenth is the largest difference of two counts of
/// a program.
const UNMATCHED: Budget = Budget::AtMost(0.1);

/// Measures the rows.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("passes");
    instructions(&mut report, effort.pick(20_000, 2_000), &PATHS)?;
    Ok(report)
}

/// Adds the instructions per message.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, calls: u64, paths: &[Path]) -> Result<(), Error> {
    for (path, call) in paths.iter().flat_map(|path| Call::ALL.map(|call| (*path, call))) {
        let name = |quantity: &str| format!("{}, {}, {quantity}", path.name(), call.name());
        let per_message = |stack| {
            let counted = Counter::of_probe(Case { stack, path, call }.to_string())?.instructions(calls)?;
            Ok::<f64, Error>(counted / call.messages() as f64)
        };
        let [written, unmatched, optimised, by_hand] = Stack::ALL.map(per_message);
        match written {
            Err(error) if error.kind() == ErrorKind::NoValgrind => {
                report.count("instructions per message", Err(error))?;
                return Ok(());
            }
            written => {
                let written = written?;
                let optimised = optimised?;
                let by_hand = by_hand?;
                report.figure(name("8 layers as written, both ends"), written, "instructions");
                report.figure(name("1 layer by hand, both ends"), by_hand, "instructions");
                report.bounded(name("optimised against by hand"), optimised / by_hand, "x", OPTIMISED);
                let added = ((unmatched? - written) * 100.0).round() / 100.0 + 0.0;
                report.bounded(name("added by passes without a match"), added, "instructions", UNMATCHED);
            }
        }
    }
    Ok(())
}
