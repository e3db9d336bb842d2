//! Messages of each size between two programs whose sockets are taken over, against rings by hand: Figures 4.2 and 4.3 of the seed, and its
//! processor time per message. Both ends have a core of their own.

use super::by_hand::{self, Load};
use super::pairs;
use super::peers::{Work, answer, answers, asking, serving};
use super::server::Server;
use super::ways::Way;
use crate::Error;
use crate::harness::{Effort, alternate, median, run_on};
use crate::report::{Budget, Report};

/// Sizes of messages in bytes.
const SIZES: [usize; 4] = [64, 512, 2 << 10, 8 << 10];

/// Budgets of the messages per second to those of a ring by hand: of the smallest, and of the largest.
const SMALL: Budget = Budget::AtLeast(0.5);
const LARGE: Budget = Budget::AtLeast(0.9);

/// Budget in microseconds of what is added to the way of a message from one end to the other.
const ADDED: Budget = Budget::AtMost(0.6);

/// Budget of the processor time of a message to that of a ring by hand.
const PROCESSOR: Budget = Budget::AtMost(2.0);

/// Adds the rows.
///
/// # Errors
/// Errors of either end.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    for bytes in SIZES {
        rates(report, effort, cores, bytes)?;
        latencies(report, effort, cores, bytes)?;
    }
    Ok(())
}

/// Measures messages without replies: Figure 4.2, and the processor time of a message.
fn rates(report: &mut Report, effort: Effort, cores: (usize, usize), bytes: usize) -> Result<(), Error> {
    let (client, server) = cores;
    let load = Load { bytes, count: effort.pick(1_000_000, 50_000) };
    let (takes, every) = (bytes.to_string(), load.count.to_string());
    let start = |port| {
        let mut command = serving(Way::Taken, port)?;
        command.args(["--takes", &takes, "--every", &every]);
        Ok(command)
    };
    let server = run_on(server, || Server::start("an end that takes messages", start))?;
    let taken = || run_on(client, || answers::<2>(of_size(Work::Send, server.port, load)?));
    let paired = alternate(pairs(effort), || by_hand::send(load), taken)?;
    let name = format!("messages of {bytes} bytes");
    let budget = if bytes < 8 << 10 { SMALL } else { LARGE };
    report.median(format!("{name}, a ring by hand"), &paired.a(), |it| it[0], "1/s");
    report.median(format!("{name}, taken over"), &paired.b(), |it| it[0], "1/s");
    report.compare(&format!("{name}, taken over to a ring by hand"), &paired, |it| it[0], Some(budget));
    let name = format!("processor time of a message of {bytes} bytes, both ends");
    report.median(format!("{name}, a ring by hand"), &paired.a(), |it| it[1], "us");
    report.median(format!("{name}, taken over"), &paired.b(), |it| it[1], "us");
    report.compare(&format!("{name}, taken over to a ring by hand"), &paired, |it| it[1], Some(PROCESSOR));
    Ok(())
}

/// Measures half a round trip: Figure 4.3.
fn latencies(report: &mut Report, effort: Effort, cores: (usize, usize), bytes: usize) -> Result<(), Error> {
    let (client, server) = cores;
    let load = Load { bytes, count: effort.pick(100_000, 10_000) };
    let server = run_on(server, || Server::start("an echo", |port| serving(Way::Taken, port)))?;
    let taken = || run_on(client, || answer(of_size(Work::Ask, server.port, load)?));
    let paired = alternate(pairs(effort), || by_hand::ask(load), taken)?;
    let name = format!("half a round trip of {bytes} bytes, p50");
    report.median(format!("{name}, a ring by hand"), &paired.a(), |it| it / 2.0, "us");
    report.median(format!("{name}, taken over"), &paired.b(), |it| it / 2.0, "us");
    let added: Vec<_> =
        paired.a().iter().zip(paired.b()).map(|(by_hand, taken)| (taken - by_hand) / 2.0).collect();
    report.bounded(format!("{name}, added"), median(&added).unwrap_or(f64::NAN), "us", ADDED);
    Ok(())
}

/// Returns the command of an end that sends messages of a size.
fn of_size(work: Work, port: u16, load: Load) -> Result<std::process::Command, Error> {
    let mut command = asking(Way::Taken, work, port, load.count)?;
    command.args(["--bytes", &load.bytes.to_string()]);
    Ok(command)
}
