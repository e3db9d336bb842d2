//! `redis-benchmark`: GET by 50 clients that wait for each reply.

use super::server::Server;
use super::ways::Way;
use super::{compare, failed, in_turn, pairs};
use crate::harness::{Effort, alternate, run_on};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::path::Path;
use std::process::Output;

const TO_TCP: Budget = Budget::AtLeast(1.8);
const TO_UNIX: Budget = Budget::AtLeast(1.2);
const SERVER_TIME: Budget = Budget::AtMost(0.5);

/// A run.
#[derive(Clone, Copy, Debug)]
struct Sample {
    /// Calls per second.
    calls: f64,
    /// Processor time of the server in microseconds for a call.
    server_us: f64,
}

/// Adds the rows.
///
/// # Errors
/// Errors of either program.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let folder =
        tempfile::tempdir().map_err(Error::while_doing(ErrorKind::Core, "making a folder for a socket"))?;
    let path = folder.path().join("redis");
    let calls = effort.pick(200_000, 40_000);
    let taken = run_on(server, || start(Way::Taken, None))?;
    let over_taken = || run_on(client, || load(Way::Taken, &taken, None, calls));
    let plain = run_on(server, || start(Way::Kernel, Some(&path)))?;
    let paired = in_turn(effort, |way| match way {
        Way::Kernel => run_on(client, || load(way, &plain, None, calls)),
        Way::Taken => over_taken(),
    })?;
    let name = "redis-benchmark GET, 50 clients";
    compare(report, name, &paired, "calls/s", |it| it.calls, TO_TCP);
    let of_server = format!("{name}, processor time of the server per call");
    compare(report, &of_server, &paired, "us", |it| it.server_us, SERVER_TIME);
    let over_unix = || run_on(client, || load(Way::Kernel, &plain, Some(&path), calls));
    let paired = alternate(pairs(effort), over_unix, over_taken)?;
    report.median(format!("{name}, Unix sockets"), &paired.a(), |it| it.calls, "calls/s");
    let ratio = format!("{name}, taken over to Unix sockets");
    report.compare(&ratio, &paired, |it| it.calls, Some(TO_UNIX));
    Ok(())
}

/// Starts a server on the calling thread's core.
fn start(way: Way, path: Option<&Path>) -> Result<Server, Error> {
    Server::start("redis-server", |port| {
        let mut command = way.command("redis-server")?;
        command.args([
            "--port",
            &port.to_string(),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--appendonly",
            "no",
        ]);
        if let Some(path) = path {
            command.arg("--unixsocket").arg(path);
        }
        Ok(command)
    })
}

fn load(way: Way, server: &Server, path: Option<&Path>, calls: u32) -> Result<Sample, Error> {
    let before = server.processor_time()?;
    let mut command = way.command("redis-benchmark")?;
    command.args(["-t", "get", "-c", "50", "-r", "100000", "--csv", "-n", &calls.to_string()]);
    match path {
        Some(path) => command.arg("-s").arg(path),
        None => command.args(["-h", "127.0.0.1", "-p", &server.port.to_string()]),
    };
    let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting redis-benchmark"))?;
    let spent = server.processor_time()?.saturating_sub(before);
    let calls_per_second = rate(&output).ok_or_else(|| failed("redis-benchmark", &output))?;
    Ok(Sample { calls: calls_per_second, server_us: spent.as_secs_f64() * 1e6 / f64::from(calls) })
}

/// Returns the second column of the row of GET.
fn rate(output: &Output) -> Option<f64> {
    let table = String::from_utf8_lossy(&output.stdout);
    let row = table.lines().find_map(|line| line.strip_prefix("\"GET\",\""))?;
    row.split('"').next()?.parse().ok()
}
