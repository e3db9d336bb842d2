//! Figure 3.3 of the thesis: goodput over each datapath.

use super::bertha::{Ends, plain};
use super::unrepaired::{self, Leaving};
use super::{Setup, blast};
use crate::Error;
use crate::goodput::{Runs, Transfer, over};
use crate::harness::{ETHERNET, Effort};
use crate::report::Report;
use bertha_plot::rate_spreads;

/// Adds the rows and the drawing.
pub(super) fn run(bytes: usize, effort: Effort, report: &mut Report) -> Result<(), Error> {
    let setup = &Setup { connections: 1, bytes, datagram: ETHERNET };
    let polling = &Ends::polling();
    let mut all = Vec::new();
    let mut nothing = || unrepaired::over(polling, setup, Leaving::InPlace);
    let by_kernel: [Transfer<'_>; 3] = [&mut || blast::run(setup), &mut nothing, &mut || plain(setup)];
    all.extend(over("kernel UDP", by_kernel, effort, report)?);
    #[cfg(feature = "dpdk")]
    all.extend(super::memif::figure(setup, effort, report)?);
    #[cfg(feature = "caladan")]
    all.extend(crate::caladan::add(crate::caladan::Rows::Throughput, effort, report)?.runs);
    all.iter().for_each(|runs| runs.add_to(report));
    let spreads: Vec<_> = all.iter().filter_map(Runs::spread).collect();
    report.draw("throughput.svg", rate_spreads("Goodput in datagrams of Ethernet", &spreads))
}
