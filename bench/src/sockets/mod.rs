//! The program `bertha-bench sockets`: programs that know nothing of Bertha, over the kernel's TCP and with their sockets taken over, in
//! turn in one run.

mod by_hand;
mod connect;
mod echo;
mod ends;
mod idle;
mod iperf;
mod load;
mod memcached;
mod messages;
mod nginx;
mod one_end;
mod peers;
mod redis;
mod server;
mod stack;
mod ways;

pub(crate) use ends::{ask, serve};
pub(crate) use peers::{AskOptions, ServeOptions};

use crate::harness::{Effort, Paired, Placement, alternate};
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use std::cell::RefCell;
use ways::{Daemon, Way};

/// The parts of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    Redis,
    Echo,
    Messages,
    Iperf,
    Nginx,
    Memcached,
    Connect,
    OneEnd,
    Idle,
    Stack,
}

#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure only this part
    #[arg(long)]
    only: Option<Part>,
}

/// Measures the rows.
///
/// # Errors
/// Errors of the programs, and of the daemon of sockets.
pub(crate) fn run(options: &Options, effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("sockets");
    let possible = Placement::AcrossCores.cores().and_then(|cores| Ok((cores, Daemon::start()?)));
    let Some((cores, _daemon)) = report.unless_impossible("sockets taken over", possible)? else {
        return Ok(report);
    };
    type Rows = fn(&mut Report, Effort, (usize, usize)) -> Result<(), Error>;
    let parts: [(Part, &str, Rows); _] = [
        (Part::Redis, "redis-benchmark", redis::rows),
        (Part::Echo, "one client", echo::rows),
        (Part::Messages, "messages of each size", messages::rows),
        (Part::Iperf, "iperf3", iperf::rows),
        (Part::Nginx, "nginx and wrk", nginx::rows),
        (Part::Memcached, "memcached", memcached::rows),
        (Part::Connect, "short connections", connect::rows),
        (Part::OneEnd, "one end alone", one_end::rows),
        (Part::Idle, "idle programs", idle::rows),
        (Part::Stack, "a stack under iperf3", stack::rows),
    ];
    for (part, name, rows) in parts {
        if options.only.is_none_or(|only| only == part) {
            // A program that is not installed costs its own rows only.
            let measured = rows(&mut report, effort, cores);
            report.unless_impossible(name, measured)?;
        }
    }
    Ok(report)
}

/// Measures both ways in turn.
///
/// # Errors
/// The first error of either.
fn in_turn<S: Clone>(
    effort: Effort,
    sample: impl FnMut(Way) -> Result<S, Error>,
) -> Result<Paired<S>, Error> {
    let sample = RefCell::new(sample);
    let sample = |way| (sample.borrow_mut())(way);
    alternate(pairs(effort), || sample(Way::Kernel), || sample(Way::Taken))
}

/// Returns the number of pairs of a ratio. A sample is a whole run of another program, so it is steadier than ours.
fn pairs(effort: Effort) -> usize {
    effort.pick(11, 3)
}

/// Adds the rows of a number of both ways, and their ratio.
fn compare<S: Copy>(
    report: &mut Report,
    name: &str,
    paired: &Paired<S>,
    unit: &str,
    number: impl Fn(&S) -> f64 + Copy,
    budget: Budget,
) {
    report.median(format!("{name}, kernel TCP"), &paired.a(), number, unit);
    report.median(format!("{name}, taken over"), &paired.b(), number, unit);
    report.compare(&format!("{name}, taken over to kernel TCP"), paired, number, Some(budget));
}

/// Makes an error of a program that gave no result.
fn failed(program: &str, said: &std::process::Output) -> Error {
    let words = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Error::new(
        ErrorKind::Stalled,
        format!("{program} failed: {}{}", words(&said.stdout), words(&said.stderr)),
    )
}
