//! A client that waits for each reply of 64 bytes: on one core, where both ends can only wait parked, and across cores.

use super::peers::{Work, answer, asking, serving};
use super::server::Server;
use super::ways::Way;
use super::{compare, in_turn};
use crate::Error;
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};

/// Budgets of the median round trip.
const ONE_CORE: Budget = Budget::AtMost(1.05);
const ACROSS_CORES: Budget = Budget::AtMost(0.3);

/// Adds the rows.
///
/// # Errors
/// Errors of either end.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let count = effort.pick(60_000, 10_000);
    for (name, client, budget) in [("on one core", server, ONE_CORE), ("across cores", client, ACROSS_CORES)]
    {
        let start = |way| run_on(server, || Server::start("an echo", |port| serving(way, port)));
        let (kernel, taken) = (start(Way::Kernel)?, start(Way::Taken)?);
        let paired = in_turn(effort, |way| {
            let port = if way == Way::Kernel { kernel.port } else { taken.port };
            run_on(client, || answer(asking(way, Work::Ask, port, count)?))
        })?;
        compare(report, &format!("round trip of 64 bytes {name}, p50"), &paired, "us", |it| *it, budget);
    }
    Ok(())
}
