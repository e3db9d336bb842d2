//! The program `bertha-bench switch`: changes of a connection's stack under full load, and the cost of the
//! ability to change.

mod load;
mod round_trip;

use crate::harness::{Counter, Effort};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::{Bincode, Postcard, Serialize};
use bertha_core::{Select, Stack, make_stack, select};
use bertha_datapath_kernel::{Tcp, Udp};
use load::{Outcome, Setup, across_threads};
use round_trip::Cost;
use std::time::Duration;

/// Number of messages in a burst.
const BURST: usize = 16;

/// The message of both ends: a number, and padding to 64 bytes.
type Message = [u64; 8];

/// Two alternatives of which neither can read the other's messages.
type Layers = Stack<Select<Layer<Bincode>, Layer<Postcard>>, bertha_core::Bottom>;
type Layer<C> = Stack<Serialize<Message, C>, bertha_core::Bottom>;

fn stack() -> Layers {
    make_stack!(select!(Serialize::<Message, Bincode>::new(), Serialize::<Message, Postcard>::new()))
}

/// Budget of a connection that can change its stack, against a connection that can't, by single messages.
const UPGRADABLE: Budget = Budget::AtMost(1.03);

/// Budget of lost, repeated and reordered messages.
const NOTHING: Budget = Budget::AtMost(0.0);

/// Measures the rows.
///
/// # Errors
/// Errors of the connections, and of the counter.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("switch");
    let lasting = Duration::from_secs_f64(effort.pick(5.0, 1.0));
    let with = Setup { changes: effort.pick(100, 20), lasting };
    let without = Setup { changes: 0, lasting };
    let udp =
        across_threads(Udp::new, without).and_then(|still| Ok((still, across_threads(Udp::new, with)?)));
    let tcp =
        across_threads(Tcp::new, without).and_then(|still| Ok((still, across_threads(Tcp::new, with)?)));
    for (name, outcomes) in [("UDP", udp), ("TCP", tcp)] {
        if let Some((still, changed)) = report.unless_impossible(name, outcomes)? {
            stream(&mut report, name, still, changed, with);
        }
    }
    instructions(&mut report, effort.pick(20_000, 5_000))?;
    Ok(report)
}

fn stream(report: &mut Report, name: &str, still: Outcome, changed: Outcome, setup: Setup) {
    let all = Budget::AtLeast(setup.changes as f64);
    report.bounded(format!("{name}, changes under full load"), changed.changes as f64, "changes", all);
    report.figure(format!("{name}, messages sent meanwhile"), changed.sent as f64, "messages");
    report.bounded(format!("{name}, lost"), changed.lost as f64, "messages", NOTHING);
    report.bounded(format!("{name}, duplicated"), changed.duplicated as f64, "messages", NOTHING);
    report.bounded(format!("{name}, reordered"), changed.reordered as f64, "messages", NOTHING);
    for (outcome, changes) in [(still, "without changes"), (changed, "with changes")] {
        report.figure(format!("{name}, throughput {changes}"), outcome.rate, "messages/s");
        report.figure(format!("{name}, longest pause {changes}"), outcome.longest_pause * 1e3, "ms");
    }
}

fn instructions(report: &mut Report, counted: u64) -> Result<(), Error> {
    for (burst, what) in [(1, "per message".to_owned()), (BURST, format!("per message of {BURST}"))] {
        let mut counts = Vec::new();
        for cost in Cost::ALL {
            let counter = Counter::of_probe(format!("switch-{}-{burst}", cost.probe()))?;
            let name = format!("UDP, both ends, {what}, {}", cost.probe());
            let Some(count) = report.count(&name, counter.instructions(counted))? else { return Ok(()) };
            counts.push(count);
        }
        let [fixed, upgradable, upgraded] = counts[..] else { continue };
        for (state, count) in [("upgradable", upgradable), ("upgraded", upgraded)] {
            let name = format!("instructions {what}, {state} to fixed");
            match burst {
                1 => report.bounded(name, count / fixed, "x", UPGRADABLE),
                _ => report.figure(name, count / fixed, "x"),
            }
        }
    }
    Ok(())
}

/// Runs a probe, such as `fixed-1` or `upgraded-16`, if there is a probe with this name.
pub(crate) fn probe(name: &str, messages: u64) -> Option<Result<(), Error>> {
    let (cost, burst) = name.split_once('-')?;
    let cost = Cost::ALL.into_iter().find(|it| it.probe() == cost)?;
    Some(round_trip::probe(cost, burst.parse().ok().filter(|it| *it > 0)?, messages))
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "moving messages across changes of the stack")(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_survives_its_changes_and_every_probe_runs() {
        let setup = Setup { changes: 2, lasting: Duration::from_millis(200) };
        let outcome = across_threads(Udp::new, setup).unwrap();
        assert_eq!((outcome.changes, outcome.lost, outcome.duplicated, outcome.reordered), (2, 0, 0, 0));
        for name in ["fixed-1", "upgradable-16", "upgraded-1"] {
            probe(name, 50).unwrap().unwrap();
        }
    }
}
