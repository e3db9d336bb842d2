//! Figure 3.3 of the thesis: goodput over each datapath, like with like: datagrams by hand, the same through a Chunnel that does
//! nothing, and beside them the whole transport, whose messages all arrive.

use super::bertha::{Ends, plain};
use super::{Setup, blast, unrepaired};
use crate::Error;
use crate::harness::{ETHERNET, Effort, alternate, median};
use crate::report::{Budget, Report};
use bertha_plot::{Spread, rate_spreads};
use serde::{Deserialize, Serialize};

/// Budget of the Chunnel that does nothing, with negotiation, against datagrams by hand. Above its upper end the datagrams by hand
/// are not what they should be.
pub(crate) const NOTHING: Budget = Budget::Between(0.8, 1.1);

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
    let runs = [("datagrams by hand", paired.a()), ("no-op Chunnel", paired.b()), ("whole transport", whole)];
    Ok(runs.map(|(how, goodput)| Runs::new(format!("{datapath}, {how}"), goodput)).into())
}

/// Adds the rows and the drawing.
pub(super) fn run(bytes: usize, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let setup = &Setup { connections: 1, bytes, datagram: ETHERNET };
    let loopback = &Ends::loopback();
    let mut all = over(
        "kernel UDP",
        [&mut || blast::run(setup), &mut || unrepaired::over(loopback, setup), &mut || plain(setup)],
        effort,
        report,
    )?;
    #[cfg(feature = "dpdk")]
    all.extend(super::memif::figure(setup, effort, report)?);
    #[cfg(feature = "caladan")]
    all.extend(crate::caladan::add(crate::caladan::Rows::Throughput, effort, report)?.runs);
    for Runs { name, goodput } in &all {
        report.figure(format!("Figure 3.3, {name}"), median(goodput).unwrap_or(f64::NAN) / 1e6, "MB/s");
    }
    let megabytes = |runs: &Runs| runs.goodput.iter().map(|rate| rate / 1e6).collect::<Vec<_>>();
    let spreads: Vec<_> = all.iter().filter_map(|runs| Spread::of(&runs.name, &megabytes(runs))).collect();
    report.draw("throughput.svg", rate_spreads("Goodput in datagrams of Ethernet", &spreads))
}
