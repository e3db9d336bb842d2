//! Both ends of a connection in a ring that no end uses: they take no processor time.

use super::peers::{Work, asking, serving};
use super::server::{Server, processor_time};
use super::ways::Way;
use crate::harness::{Effort, run_on};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::process::Stdio;
use std::time::Duration;

/// Budget in milliseconds.
const TIME: Budget = Budget::AtMost(0.0);

/// Adds the rows.
///
/// # Errors
/// Errors of either end.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let seconds = effort.pick(60, 5);
    let served = run_on(server, || Server::start("an echo", |port| serving(Way::Taken, port)))?;
    let mut client = run_on(client, || {
        let mut command = asking(Way::Taken, Work::Idle, served.port, 10_000)?;
        let starting = Error::while_doing(ErrorKind::Core, "starting an idle end");
        command.stdout(Stdio::null()).spawn().map_err(starting)
    })?;
    // By then, its requests are over.
    std::thread::sleep(Duration::from_secs(3));
    let spent = |client| Ok(served.processor_time()? + processor_time(client)?);
    let before: Duration = spent(&client)?;
    std::thread::sleep(Duration::from_secs(seconds));
    let spent = spent(&client)?.saturating_sub(before);
    // The end may have failed.
    let _ = client.kill();
    let _ = client.wait();
    report.bounded(
        format!("processor time of two idle ends in {seconds} s"),
        spent.as_secs_f64() * 1e3,
        "ms",
        TIME,
    );
    Ok(())
}
