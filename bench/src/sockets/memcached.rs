//! memcached under a load of ours: nine GET of ten, one SET, by 50 connections that wait for each reply.

use super::peers::{Work, answer, asking};
use super::server::Server;
use super::ways::Way;
use super::{compare, in_turn};
use crate::Error;
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};

const PER_SECOND: Budget = Budget::AtLeast(1.5);

/// Adds the rows.
///
/// # Errors
/// Errors of memcached and of the load.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let start = |way| run_on(server, || start(way));
    let (kernel, taken) = (start(Way::Kernel)?, start(Way::Taken)?);
    let count = effort.pick(100_000, 20_000);
    let paired = in_turn(effort, |way| {
        let port = if way == Way::Kernel { kernel.port } else { taken.port };
        run_on(client, || answer(asking(way, Work::Memcached, port, count)?))
    })?;
    compare(report, "memcached, 50 connections", &paired, "calls/s", |it| *it, PER_SECOND);
    Ok(())
}

fn start(way: Way) -> Result<Server, Error> {
    Server::start("memcached", |port| {
        let mut command = way.command("memcached")?;
        command.args(["-l", "127.0.0.1", "-p", &port.to_string(), "-U", "0", "-t", "1", "-u", "root"]);
        Ok(command)
    })
}
