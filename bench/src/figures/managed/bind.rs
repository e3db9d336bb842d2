//! The time in which an application is attached: its schema is read, checked and planned.

use super::SERVICE;
use super::by_daemon::failed;
use super::chain::ATTACH;
use super::process::Process;
use super::reservation::hotel::Service;
use crate::harness::{Effort, in_time, percentile, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::application::Attach;
use std::path::Path;
use std::time::Instant;
use tempfile::TempDir;

/// Budgets in milliseconds of the median, with a schema that the daemon does not know, and with one that it does.
const UNKNOWN: Budget = Budget::AtMost(10.0);
const KNOWN: Budget = Budget::AtMost(2.0);

/// Number of applications that attach to a daemon behind its first.
const LATER: usize = 4;

/// Measures the rows.
///
/// # Errors
/// Errors of the processes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let (mut unknown, mut known) = (Vec::new(), Vec::new());
    for _ in 0..effort.pick(100, 10) {
        let [first, later @ ..] = of_a_fresh_daemon()?;
        unknown.push(first);
        known.extend(later);
    }
    let name = "from the call to an attached application, the schema of a hotel";
    for (what, times, budget) in
        [("the first of a new daemon", unknown, UNKNOWN), ("known to the daemon", known, KNOWN)]
    {
        let row = |quantile: f64| percentile(&times, quantile).unwrap_or(f64::NAN);
        report.bounded(format!("{name}, {what}, p50"), row(0.5), "ms", budget);
        report.figure(format!("{name}, {what}, p99"), row(0.99), "ms");
    }
    Ok(())
}

/// Starts a daemon, and returns the milliseconds after which its applications were attached, in their order. Each stays.
fn of_a_fresh_daemon() -> Result<[f64; 1 + LATER], Error> {
    let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
    let socket = folder.path().join("rpcd");
    let mut daemon = Process::of_this_program(&["rpcd", "--socket", &socket.display().to_string()])?;
    daemon.says(ATTACH)?;
    runtime()?.block_on(in_time(attach_all(&socket)))
}

async fn attach_all(socket: &Path) -> Result<[f64; 1 + LATER], Error> {
    let (mut attached, mut times) = (Vec::new(), [0.0; 1 + LATER]);
    for time in &mut times {
        let began = Instant::now();
        attached.push(Attach::new(socket, "client").client::<Service>(SERVICE).await.map_err(failed)?);
        *time = began.elapsed().as_secs_f64() * 1e3;
    }
    Ok(times)
}
