//! The pause of calls by the upgrade of an engine.

use super::built_in_kind;
use super::by_daemon::client;
use super::chain::Answering;
use super::flow::Flow;
use super::operated::Operated;
use crate::harness::{Effort, in_time, percentile, runtime};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_managed::{Change, Settings};
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;

/// Budgets in milliseconds of the pause, of which the 99th percentile is the scheduler's.
const P50: Budget = Budget::AtMost(1.0);
const P99: Budget = Budget::AtMost(10.0);

/// Budget of calls without an answer.
const LOST: Budget = Budget::AtMost(0.0);

/// Number of calls in flight: a full burst of an engine.
const IN_FLIGHT: usize = 64;

/// Number of names that the engine has as its state, each of [`NAME`] bytes with its end: 64 KiB.
const NAMES: usize = (64 << 10) / NAME;
const NAME: usize = 32;

/// Time before and after each upgrade.
const AROUND: Duration = Duration::from_millis(5);

/// The name of the engine and of its kind.
const ACL: &str = "acl";

/// Measurements at some moments.
#[derive(Debug, Default)]
struct Pauses {
    /// Longest times between two answers, in milliseconds.
    gaps: Vec<f64>,
    /// Times of the changes, in milliseconds.
    changes: Vec<f64>,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the processes, and refusals of changes.
pub(super) fn run(report: &mut Report, effort: Effort) -> Result<(), Error> {
    let folder = TempDir::new().map_err(Error::while_doing(ErrorKind::Core, "making a folder"))?;
    let there = Answering::start(folder.path(), Answering::NATIVE, 1)?;
    let socket = folder.path().join("here");
    let daemon = Operated::start(&socket, &there.addr)?;
    let upgrades = effort.pick(100, 20);
    let (with, without, lost) = runtime()?.block_on(in_time(play(&daemon, &socket, upgrades)))?;
    describe(report, upgrades, &with, &without, lost);
    Ok(())
}

/// Returns what was measured around upgrades, and in turn around moments without one; and the number of calls without an answer.
async fn play(daemon: &Operated, socket: &Path, upgrades: usize) -> Result<(Pauses, Pauses, u64), Error> {
    let kind = built_in_kind(ACL)?;
    let flow = Flow::start(client(socket, "client").await?, IN_FLIGHT);
    daemon.change(Some(Change::Add { name: ACL.into(), kind: kind.clone(), settings: settings()? })).await?;
    let (mut with, mut without) = (Pauses::default(), Pauses::default());
    for _ in 0..upgrades {
        let upgrade = Change::Upgrade { name: ACL.into(), kind: kind.clone() };
        for (pauses, change) in [(&mut without, None), (&mut with, Some(upgrade))] {
            tokio::time::sleep(AROUND).await;
            flow.begin_gap();
            let change = daemon.change(change).await?;
            tokio::time::sleep(AROUND).await;
            pauses.gaps.push(flow.longest_gap().as_secs_f64() * 1e3);
            pauses.changes.push(change.as_secs_f64() * 1e3);
        }
    }
    let lost = flow.end().await?;
    Ok((with, without, lost))
}

/// Returns settings with [`NAMES`] names, none of which calls.
fn settings() -> Result<Settings, Error> {
    let width = NAME - 1;
    let names: Vec<_> = (0..NAMES).map(|name| format!("{name:0width$}")).collect();
    let text = format!("field=customer deny={}", names.join(","));
    text.parse().map_err(Error::while_doing(ErrorKind::Bertha, "writing settings"))
}

fn describe(report: &mut Report, upgrades: usize, with: &Pauses, without: &Pauses, lost: u64) {
    let name = format!(
        "pause by an upgrade, the longest time between two answers that a caller with {IN_FLIGHT} calls in flight sees from the order until {} ms after an acl with 64 KiB of names was upgraded, {upgrades} times",
        AROUND.as_millis()
    );
    let of = |values: &[f64], quantile| percentile(values, quantile).unwrap_or(f64::NAN);
    for (quantile, at, budget) in [("p50", 0.5, P50), ("p99", 0.99, P99)] {
        report.bounded(format!("{name}, {quantile}"), of(&with.gaps, at), "ms", budget);
        let short = "pause by an upgrade";
        let row = format!("{short}: the same time where nothing changes, {quantile}");
        report.figure(row, of(&without.gaps, at), "ms");
        let row = format!("{short}: the time in which calls of the service can't pass, {quantile}");
        report.figure(row, of(&with.changes, at), "ms");
    }
    report.bounded("pause by an upgrade: calls without an answer", lost as f64, "calls", LOST);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_is_of_64_kib() {
        let mut settings = settings().unwrap();
        let names = settings.take_list("deny").unwrap();
        assert_eq!(names.iter().map(|name| name.len() + 1).sum::<usize>(), 64 << 10);
    }

    #[test]
    fn a_pause_is_judged_by_what_callers_see() {
        let with = Pauses { gaps: vec![0.9; 100], changes: vec![0.2; 100] };
        let without = Pauses { gaps: vec![20.0; 100], changes: vec![0.0; 100] };
        let mut report = Report::new("managed");
        describe(&mut report, 100, &with, &without, 0);
        assert!(report.is_within_budget());
        let slow = Pauses { gaps: vec![1.1; 100], changes: vec![0.2; 100] };
        describe(&mut report, 100, &slow, &without, 0);
        assert_eq!(report.rows().iter().filter(|row| row.is_kept() == Some(false)).count(), 1);
    }
}
