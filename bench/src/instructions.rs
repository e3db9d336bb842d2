//! Instructions per operation, counted by callgrind.
//!
//! The program under measurement is a [probe](crate::probe) of this same binary. It is run under
//! `valgrind --tool=callgrind` for N and for 2N iterations; the difference of the two counts divided by N is the cost
//! of one iteration, and what the start costs cancels.
//!
//! Callgrind counts **user space alone**. A system call costs what leads up to it, not what the kernel does. So two
//! programs compare fairly when they make the same system calls; who saves a system call gets less credit here than
//! the clock gives. Valgrind also runs one thread at a time, so a probe should be one thread: then its batches, and with
//! them the count, are the same in every run.
//!
//! The binary must be built for baseline x86-64 (the default): valgrind does not know AVX-512, so
//! `-C target-cpu=native` would stop it with an illegal instruction.

use crate::program::Program;
use crate::{Error, ErrorKind};
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// Counts the instructions of one binary's probes.
#[derive(Clone, Debug)]
pub struct Counter {
    program: Program,
}

impl Counter {
    /// A counter for the probes of the running program.
    ///
    /// # Errors
    /// [`ErrorKind::Valgrind`] when the system does not say which program runs.
    pub fn of_this_program() -> Result<Self, Error> {
        Program::running(ErrorKind::Valgrind).map(|program| Self { program })
    }

    /// A counter for the probes of another build of this program.
    pub fn of(binary: impl Into<PathBuf>) -> Self {
        Self { program: Program::at(binary) }
    }

    /// User-space instructions per iteration of the probe, start-up excluded.
    ///
    /// `iterations` should be large enough that the odd event between the two runs (a hash map that grows) does
    /// not matter.
    ///
    /// # Errors
    /// [`ErrorKind::NoValgrind`] when valgrind is not installed, [`ErrorKind::Probe`] for no iterations, and
    /// [`ErrorKind::Valgrind`] when the probe fails or valgrind prints no count.
    pub fn per_iteration(&self, probe: &str, iterations: u64) -> Result<f64, Error> {
        let short = self.total(probe, iterations)?;
        let long = self.total(probe, 2 * iterations)?;
        Ok((long as f64 - short as f64) / iterations as f64)
    }

    /// All user-space instructions of one run of the probe, start-up included.
    fn total(&self, probe: &str, iterations: u64) -> Result<u64, Error> {
        let output = Command::new("valgrind")
            .args(["--tool=callgrind", "--callgrind-out-file=/dev/null"])
            .args(self.program.command_line(probe, iterations)?)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| match error.kind() {
                std::io::ErrorKind::NotFound => Error::new(
                    ErrorKind::NoValgrind,
                    "valgrind is not installed; install the package `valgrind`",
                ),
                _ => Error::new(ErrorKind::Valgrind, "starting valgrind").because(error),
            })?;
        let log = String::from_utf8_lossy(&output.stderr);
        if !output.status.success() {
            return Err(Error::new(
                ErrorKind::Valgrind,
                format!("probe {probe} failed under valgrind: {log}"),
            ));
        }
        parse_total(&log).ok_or_else(|| {
            Error::new(
                ErrorKind::Valgrind,
                format!("valgrind printed no instruction count for {probe}: {log}"),
            )
        })
    }
}

/// The total in callgrind's log: the line `Collected`, else the line `I refs`.
fn parse_total(log: &str) -> Option<u64> {
    let value_of = |label: &str| {
        log.lines()
            .filter_map(|line| line.strip_prefix("==")?.split_once("== ")?.1.split_once(':'))
            .find(|(name, _)| name.split_whitespace().eq(label.split_whitespace()))
            .and_then(|(_, value)| value.split_whitespace().next()?.replace(',', "").parse().ok())
    };
    value_of("Collected").or_else(|| value_of("I refs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
==4242== Callgrind, a call-graph generating cache profiler
==4242== For interactive control, run 'callgrind_control -h'.
==4242==
==4242== Events    : Ir
==4242== Collected : 1903277
==4242==
==4242== I   refs:      1,903,278
";

    #[test]
    fn the_collected_line_is_the_total() {
        assert_eq!(parse_total(LOG), Some(1_903_277));
    }

    #[test]
    fn the_references_line_does_without_it() {
        let log = LOG.replace("Collected", "Something");
        assert_eq!(parse_total(&log), Some(1_903_278));
    }

    #[test]
    fn several_event_columns_give_the_first() {
        assert_eq!(parse_total("==1== Events    : Ir Dr\n==1== Collected : 12 5\n"), Some(12));
    }

    #[test]
    fn what_the_program_prints_is_not_a_count() {
        assert_eq!(parse_total("Collected : 5\n"), None);
        assert_eq!(parse_total("==1== Collected : many\n"), None);
        assert_eq!(parse_total(""), None);
    }

    #[test]
    fn no_iterations_is_an_error() {
        let error = Counter::of("/nonexistent").per_iteration("any", 0).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Probe);
    }
}
