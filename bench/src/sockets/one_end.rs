//! A program whose peer is not taken over: it stays on the kernel, and should lose nothing.

use super::iperf::{start, stream};
use super::peers::{Work, serving, words};
use super::server::Server;
use super::ways::{Way, environment, this_program};
use super::{compare, in_turn};
use crate::Error;
use crate::harness::{Counter, Effort, run_on};
use crate::report::{Budget, Report};
use std::ffi::OsString;

const BYTES: Budget = Budget::AtLeast(0.98);

/// Budget of the instructions that are added to a call of send or recv.
const INSTRUCTIONS: Budget = Budget::AtMost(60.0);

/// Number of round trips of a count.
const COUNTED: u64 = 2_000;

/// Adds the rows.
///
/// # Errors
/// Errors of either end.
pub(super) fn rows(report: &mut Report, effort: Effort, cores: (usize, usize)) -> Result<(), Error> {
    let (client, server) = cores;
    let kernel = run_on(server, || start(Way::Kernel))?;
    let paired = in_turn(effort, |way| run_on(client, || stream(way, kernel.port, effort)))?;
    compare(report, "iperf3, the client alone", &paired, "Gbit/s", |it| *it, BYTES);
    let echo = run_on(server, || Server::start("an echo", |port| serving(Way::Kernel, port)))?;
    let program = this_program()?;
    let asks = |port| ["sockets-ask".to_owned()].into_iter().chain(words(Work::Calls, port));
    let plain = Counter::of_program(program, asks(echo.port).map(OsString::from)).instructions(COUNTED);
    let Some(plain) = report.count("round trip of 64 bytes, kernel TCP", plain)? else { return Ok(()) };
    // Valgrind follows no program into another, so it gets what `bertha run` would give it.
    let counted = environment().and_then(|variables| {
        let counter = Counter::of_program(this_program()?, asks(echo.port).map(OsString::from));
        counter.environment(variables).instructions(COUNTED)
    });
    if let Some(taken) = report.count("round trip of 64 bytes, the client taken over", counted)? {
        // A round trip is two calls.
        report.bounded(
            "added to a call of one end alone",
            (taken - plain) / 2.0,
            "instructions",
            INSTRUCTIONS,
        );
    }
    Ok(())
}
