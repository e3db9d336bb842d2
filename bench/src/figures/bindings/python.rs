//! The rows of Python: each way has two processes, one a core.

use super::apart::{Program, Server};
use crate::Error;
use crate::harness::{Effort, Placement, alternate};
use crate::report::{Budget, Report};

/// A comparison of two programs.
struct Comparison {
    name: &'static str,
    /// The end that measures, and its number: bytes of a message, or calls in flight.
    end: &'static str,
    number: usize,
    /// The program that the other is compared with, with its name.
    reference: (&'static str, Program),
    python: Program,
    budget: Budget,
}

const BERTHA_MESSAGES: Program = Program::Python("messages.py", "bertha");
const BERTHA_CALLS: Program = Program::Python("calls.py", "bertha");
const GRPCIO: (&str, Program) = ("grpcio", Program::Python("calls.py", "grpc"));

const COMPARISONS: [Comparison; 4] = [
    Comparison {
        name: "Python, asyncio, tcp, echo of 64 bytes",
        end: "echo",
        number: 64,
        reference: ("asyncio's streams by hand", Program::Python("messages.py", "streams")),
        python: BERTHA_MESSAGES,
        budget: Budget::AtLeast(1.0),
    },
    Comparison {
        name: "Python, asyncio, tcp, messages of 1 MiB one way",
        end: "send",
        number: 1 << 20,
        reference: ("Rust with boxed stacks", Program::Rust),
        python: BERTHA_MESSAGES,
        budget: Budget::AtLeast(0.8),
    },
    Comparison {
        name: "Python, asyncio, tcp, calls, one in flight",
        end: "call",
        number: 1,
        reference: GRPCIO,
        python: BERTHA_CALLS,
        budget: Budget::AtLeast(2.0),
    },
    Comparison {
        name: "Python, asyncio, tcp, calls, 64 in flight",
        end: "call",
        number: 64,
        reference: GRPCIO,
        python: BERTHA_CALLS,
        budget: Budget::AtLeast(2.0),
    },
];

/// Adds the rows.
///
/// # Errors
/// Errors of the programs. What is not installed costs its own rows only.
pub(super) fn rows(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for comparison in &COMPARISONS {
        let Comparison { name, end, number, reference: (other, reference), python, budget } = comparison;
        let servers = || {
            let (client, server) = Placement::AcrossCores.cores()?;
            Ok((client, Server::start(*reference, server)?, Server::start(*python, server)?))
        };
        let Some((core, reference, python)) = report.unless_impossible(name, servers())? else { continue };
        let rate = |server: &Server| server.rate(end, *number, effort.pick(0.5, 0.2), core);
        let paired = alternate(effort.pairs(), || rate(&reference), || rate(&python))?;
        report.median(format!("{name}, {other}"), &paired.a(), |rate| *rate, "/s");
        report.median(format!("{name}, Bertha"), &paired.b(), |rate| *rate, "/s");
        report.compare(&format!("{name}, Bertha to {other}"), &paired, |rate| *rate, Some(*budget));
    }
    Ok(())
}
