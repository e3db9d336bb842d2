//! `bertha-bench switch`: changing the stack of a connection under full load.

use bertha_bench::instructions::Counter;
use bertha_bench::report::{Budget, Report};
use bertha_bench::switch::{BURST, Cost, Outcome, Setup, across_threads};
use bertha_bench::{Error, ErrorKind};
use bertha_datapath_kernel::{Tcp, Udp};
use clap::Args;
use std::time::Duration;

/// What to measure.
#[derive(Debug, Args)]
pub(crate) struct Options {
    /// How often the stack changes
    #[arg(long, default_value_t = 100)]
    changes: usize,
    /// Seconds that messages flow
    #[arg(long, default_value_t = 5.0)]
    seconds: f64,
    /// Messages that callgrind counts; 0 leaves the count out
    #[arg(long, default_value_t = 20_000)]
    counted: u64,
}

/// What a connection that can change its stack may cost of one that can't.
const UPGRADABLE: Option<Budget> = Some(Budget::AtMost(1.01));

/// Bursts show what an application pays that hands them over; the budget is for single messages.
const NOTED: Option<Budget> = None;

/// Nothing may be lost, repeated or reordered.
const NOTHING: Budget = Budget::AtMost(0.0);

pub(crate) fn run(options: &Options) -> Result<Report, Error> {
    let mut report = Report::new("switch");
    let lasting = Duration::from_secs_f64(options.seconds);
    let (with, without) = (Setup { changes: options.changes, lasting }, Setup { changes: 0, lasting });
    stream(&mut report, "UDP", across_threads(Udp::new, without)?, across_threads(Udp::new, with)?, with);
    stream(&mut report, "TCP", across_threads(Tcp::new, without)?, across_threads(Tcp::new, with)?, with);
    if options.counted > 0 {
        instructions(options.counted, &mut report)?;
    }
    Ok(report)
}

fn stream(report: &mut Report, name: &str, still: Outcome, changed: Outcome, setup: Setup) {
    let all = Budget::AtLeast(setup.changes as f64);
    report.bounded(format!("{name}, changes under full load"), changed.changes as f64, "changes", all);
    report.figure(format!("{name}, messages sent meanwhile"), changed.sent as f64, "messages");
    report.bounded(format!("{name}, lost"), changed.lost as f64, "messages", NOTHING);
    report.bounded(format!("{name}, duplicated"), changed.duplicated as f64, "messages", NOTHING);
    report.bounded(format!("{name}, reordered"), changed.reordered as f64, "messages", NOTHING);
    report.figure(format!("{name}, throughput without changes"), still.rate, "messages/s");
    report.figure(format!("{name}, throughput with changes"), changed.rate, "messages/s");
    report.figure(format!("{name}, longest pause without changes"), still.longest_pause * 1e3, "ms");
    report.figure(format!("{name}, longest pause with changes"), changed.longest_pause * 1e3, "ms");
}

fn instructions(counted: u64, report: &mut Report) -> Result<(), Error> {
    if compare(counted, "per message", Cost::probe, UPGRADABLE, report)? {
        compare(counted, &format!("per message of {BURST}"), Cost::probe_of_bursts, NOTED, report)?;
    }
    Ok(())
}

/// Counts all of them. Whether there is something to count with.
fn compare(
    counted: u64,
    what: &str,
    probe: fn(Cost) -> &'static str,
    budget: Option<Budget>,
    report: &mut Report,
) -> Result<bool, Error> {
    let counter = Counter::of_this_program()?;
    let mut counts = Vec::new();
    for cost in Cost::ALL {
        let name = match cost {
            Cost::Fixed => format!("UDP, both ends, {what}, can't change"),
            Cost::Locked => format!("UDP, both ends, {what}, behind a lock that does nothing else"),
            Cost::Upgradable => format!("UDP, both ends, {what}, can change"),
            Cost::Upgraded => format!("UDP, both ends, {what}, has changed"),
        };
        match counter.per_iteration(probe(cost), counted) {
            Err(error) if error.kind() == ErrorKind::NoValgrind => {
                report.instructions(&name, Err(error))?;
                return Ok(false);
            }
            count => {
                let count = count?;
                report.figure(name, count, "instructions");
                counts.push(count);
            }
        }
    }
    if let [fixed, locked, upgradable, upgraded] = counts[..] {
        let states = [
            ("locked", locked, NOTED),
            ("can change", upgradable, budget),
            ("has changed", upgraded, budget),
        ];
        for (state, count, budget) in states {
            let name = format!("{state} against can't, instructions {what}");
            match budget {
                Some(budget) => report.bounded(name, count / fixed, "x", budget),
                None => report.figure(name, count / fixed, "x"),
            }
        }
    }
    Ok(true)
}
