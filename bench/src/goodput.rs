//! Goodput over a datapath, like with like: datagrams by hand, the same through a Chunnel that does nothing, and beside them the whole
//! transport, whose messages all arrive.

use crate::Error;
use crate::harness::{Effort, alternate, median};
use crate::report::{Budget, Report};
use bertha_plot::Spread;
use serde::{Deserialize, Serialize};

/// Budget of the Chunnel that does nothing, with negotiation, against datagrams by hand. Above its upper end the datagrams by hand
/// are not what they should be.
const NOTHING: Budget = Budget::Between(0.8, 1.1);

/// Budget of the whole transport against the Chunnel that does nothing: it numbers, checks and repairs, and so is slower, but keeps
/// the same datapath busy.
const WHOLE: Budget = Budget::Between(0.3, 0.9);

/// Runs of a transfer, in bytes per second.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Runs {
    name: String,
    goodput: Vec<f64>,
}

impl Runs {
    pub(crate) fn new(name: impl Into<String>, goodput: Vec<f64>) -> Self {
        Self { name: name.into(), goodput }
    }

    /// Adds the row of the median.
    pub(crate) fn add_to(&self, report: &mut Report) {
        let middle = median(&self.goodput).unwrap_or(f64::NAN) / 1e6;
        report.figure(format!("Figure 3.3, {}", self.name), middle, "MB/s");
    }

    /// Returns the runs as a box of the drawing, in megabytes per second.
    pub(crate) fn spread(&self) -> Option<Spread> {
        let megabytes: Vec<_> = self.goodput.iter().map(|rate| rate / 1e6).collect();
        Spread::of(&self.name, &megabytes)
    }
}

/// A transfer, which returns bytes per second.
pub(crate) type Transfer<'a> = &'a mut dyn FnMut() -> Result<f64, Error>;

/// Runs the transfers over a datapath: by hand, through a Chunnel that does nothing, and with the whole transport.
///
/// # Errors
/// Errors of the transfers.
pub(crate) fn over(
    datapath: &str,
    [raw, nothing, whole]: [Transfer<'_>; 3],
    effort: Effort,
    report: &mut Report,
) -> Result<Vec<Runs>, Error> {
    let paired = alternate(effort.pick(11, 3), raw, nothing)?;
    let name = format!("Figure 3.3, {datapath}: a no-op Chunnel to datagrams by hand");
    report.compare(&name, &paired, |it| *it, Some(NOTHING));
    let whole = (0..effort.pick(7, 3)).map(|_| whole()).collect::<Result<Vec<_>, _>>()?;
    let ratio = median(&whole).zip(median(&paired.b())).map_or(f64::NAN, |(whole, nothing)| whole / nothing);
    report.bounded(
        format!("Figure 3.3, {datapath}: the whole transport to a no-op Chunnel"),
        ratio,
        "x",
        WHOLE,
    );
    let runs = [("datagrams by hand", paired.a()), ("no-op Chunnel", paired.b()), ("whole transport", whole)];
    Ok(runs.map(|(how, goodput)| Runs::new(format!("{datapath}, {how}"), goodput)).into())
}
