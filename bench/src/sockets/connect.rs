//! Connections of one request each, which are never worth a ring.

use super::peers::{Work, answer, asking, serving};
use super::server::Server;
use super::ways::Way;
use super::{compare, in_turn};
use crate::Error;
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};

const PER_SECOND: Budget = Budget::AtLeast(0.95);

/// Adds the rows.
///
/// # Errors
/// Errors of either end.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let count = effort.pick(5_000, 1_000);
    let start = |way| run_on(server, || Server::start("an echo", |port| serving(way, port)));
    let (kernel, taken) = (start(Way::Kernel)?, start(Way::Taken)?);
    let paired = in_turn(effort, |way| {
        let port = if way == Way::Kernel { kernel.port } else { taken.port };
        run_on(client, || answer(asking(way, Work::Connect, port, count)?))
    })?;
    compare(report, "connect, one request, close", &paired, "connections/s", |it| *it, PER_SECOND);
    Ok(())
}
