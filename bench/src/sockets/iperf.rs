//! A single stream of `iperf3`.

use super::server::Server;
use super::ways::Way;
use super::{compare, failed, in_turn};
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::process::Output;

const BYTES: Budget = Budget::AtLeast(1.5);

/// Adds the rows.
///
/// # Errors
/// Errors of either program.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let start = |way| run_on(server, || start(way));
    let (kernel, taken) = (start(Way::Kernel)?, start(Way::Taken)?);
    let paired = in_turn(effort, |way| {
        let port = if way == Way::Kernel { kernel.port } else { taken.port };
        run_on(client, || stream(way, port, effort))
    })?;
    compare(report, "iperf3, one stream", &paired, "Gbit/s", |it| *it, BYTES);
    Ok(())
}

/// Starts a server on the calling thread's core.
pub(super) fn start(way: Way) -> Result<Server, Error> {
    Server::start("iperf3", |port| {
        let mut command = way.command("iperf3")?;
        command.args(["-s", "-p", &port.to_string()]);
        Ok(command)
    })
}

/// Returns the gigabits per second that the server received.
pub(super) fn stream(way: Way, port: u16, effort: Effort) -> Result<f64, Error> {
    let seconds = effort.pick("3", "1");
    let mut command = way.command("iperf3")?;
    command.args(["-c", "127.0.0.1", "-J", "-t", seconds, "-p", &port.to_string()]);
    let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting iperf3"))?;
    received(&output).ok_or_else(|| failed("iperf3", &output))
}

/// Returns the gigabits per second that a report of `iperf3` tells.
pub(super) fn received(output: &Output) -> Option<f64> {
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).ok()?;
    Some(report.pointer("/end/sum_received/bits_per_second")?.as_f64()? / 1e9)
}
