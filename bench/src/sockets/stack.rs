//! A single stream of `iperf3` that the daemon carries by a stack, against a program of Bertha with the same stack.

use super::server::Server;
use super::ways::beside;
use super::{failed, iperf, pairs};
use crate::harness::{Effort, alternate, run_on};
use crate::report::{Budget, Report};
use crate::throughput::by_names;
use crate::{Error, ErrorKind};
use std::process::Command;
use std::time::Duration;

const STACK: &str = "ordered,fragment,reliable";

const BYTES: Budget = Budget::AtLeast(0.7);

/// Adds the rows.
///
/// # Errors
/// Errors of either program.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let start = || Server::start_silent("iperf3", |port| carried(&["-s", "-p", &port.to_string()]));
    let server = run_on(server, start)?;
    // Nobody can ask the kernel whether it listens.
    std::thread::sleep(Duration::from_secs(1));
    let stream = || {
        let (seconds, port) = (effort.pick("3", "1"), server.port.to_string());
        let mut command = carried(&["-c", "127.0.0.1", "-J", "-t", seconds, "-p", &port])?;
        let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting iperf3"))?;
        iperf::received(&output).ok_or_else(|| failed("iperf3", &output))
    };
    let program = || Ok(by_names(effort.pick(256 << 20, 64 << 20))? * 8.0 / 1e9);
    let paired = alternate(pairs(effort), program, || run_on(client, stream))?;
    let name = format!("one stream by `{STACK}` over UDP");
    report.median(format!("{name}, a program of Bertha"), &paired.a(), |it| *it, "Gbit/s");
    report.median(format!("{name}, iperf3"), &paired.b(), |it| *it, "Gbit/s");
    let ratio = format!("{name}, iperf3 to a program of Bertha");
    report.compare(&ratio, &paired, |it| *it, Some(BYTES));
    Ok(())
}

/// Returns the command of `iperf3` below which there is the stack.
fn carried(arguments: &[&str]) -> Result<Command, Error> {
    let mut command = Command::new(beside("bertha")?);
    command.args(["run", "--stack", STACK, "--", "iperf3"]).args(arguments);
    Ok(command)
}
