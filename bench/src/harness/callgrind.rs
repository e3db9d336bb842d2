//! Instructions and system calls per operation, counted by valgrind.
//!
//! The program under measurement is a [probe](crate::probe) of this binary, or another program with equal
//! last two arguments. It runs for N and for 2N iterations; the difference of the two counts divided by N is
//! the cost of an iteration, and start-up cancels.
//!
//! Callgrind counts **only user space**: a system call costs the code around it, not the kernel's work. So
//! two programs compare fairly when they make equal system calls, which are counted too. Valgrind runs a
//! single thread at a time; a probe is a single thread, so that its batches and its count are equal in every
//! run.
//!
//! The binary must be built for baseline x86-64 (the default): valgrind does not know AVX-512, so `-C target-cpu=native`
//! would stop it with an illegal instruction.
//!
//! This small runner stands here in place of the crate `gungraun`, which counts the functions of one crate: the counts of
//! this program are ratios and differences of whole programs, some of them built outside of the workspace.

use crate::{Error, ErrorKind};
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// A counter of a program's work.
#[derive(Clone, Debug)]
pub(crate) struct Counter {
    program: PathBuf,
    arguments: Vec<OsString>,
    environment: Vec<(OsString, OsString)>,
}

impl Counter {
    /// Creates a counter for a probe of the running program.
    ///
    /// # Errors
    /// [`ErrorKind::Valgrind`] when the system does not know which program runs.
    pub(crate) fn of_probe(name: impl Into<OsString>) -> Result<Self, Error> {
        let program = std::env::current_exe()
            .map_err(Error::while_doing(ErrorKind::Valgrind, "finding the running program"))?;
        Ok(Self::of_program(program, ["probe".into(), name.into()]))
    }

    /// Creates a counter for another program, which takes the number of iterations as its last argument.
    pub(crate) fn of_program(
        program: impl Into<PathBuf>,
        arguments: impl IntoIterator<Item = OsString>,
    ) -> Self {
        let arguments = arguments.into_iter().collect();
        Self { program: program.into(), arguments, environment: Vec::new() }
    }

    /// Adds variables to the environment of the program.
    pub(crate) fn environment(mut self, variables: impl IntoIterator<Item = (OsString, OsString)>) -> Self {
        self.environment.extend(variables);
        self
    }

    /// Returns the user-space instructions per iteration, start-up excluded.
    ///
    /// # Errors
    /// [`ErrorKind::NoValgrind`] when valgrind is not installed, [`ErrorKind::Probe`] for no iterations, and
    /// [`ErrorKind::Valgrind`] when the program fails or valgrind prints no count.
    pub(crate) fn instructions(&self, iterations: u64) -> Result<f64, Error> {
        let arguments = ["--tool=callgrind", "--callgrind-out-file=/dev/null"];
        self.difference(iterations, &arguments, total_of_instructions)
    }

    /// Returns the number of these system calls per iteration, start-up excluded.
    ///
    /// # Errors
    /// Errors of [`instructions`](Self::instructions).
    pub(crate) fn system_calls(&self, iterations: u64, names: &[&str]) -> Result<f64, Error> {
        let count = |log: &str| Some(count_calls(log, names));
        self.difference(iterations, &["--tool=none", "--trace-syscalls=yes"], count)
    }

    fn difference(
        &self,
        iterations: u64,
        tool: &[&str],
        total: impl Fn(&str) -> Option<u64>,
    ) -> Result<f64, Error> {
        if iterations == 0 {
            return Err(Error::new(ErrorKind::Probe, "a count needs at least one iteration"));
        }
        let of = |iterations: u64| {
            let log = self.log(iterations, tool)?;
            let none = || Error::new(ErrorKind::Valgrind, format!("valgrind printed no count: {log}"));
            total(&log).ok_or_else(none)
        };
        Ok((of(2 * iterations)? as f64 - of(iterations)? as f64) / iterations as f64)
    }

    /// Returns valgrind's log of a run.
    fn log(&self, iterations: u64, tool: &[&str]) -> Result<String, Error> {
        let mut valgrind = Command::new("valgrind");
        valgrind.args(tool).arg(&self.program).args(&self.arguments).arg(iterations.to_string());
        valgrind.envs(self.environment.iter().cloned());
        let output = valgrind.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => {
                Error::new(ErrorKind::NoValgrind, "valgrind is missing; install the package `valgrind`")
            }
            _ => Error::new(ErrorKind::Valgrind, "starting valgrind").because(error),
        })?;
        let log = String::from_utf8_lossy(&output.stderr).into_owned();
        if !output.status.success() {
            let tail: String = log.lines().rev().take(8).collect::<Vec<_>>().join(" | ");
            return Err(Error::new(ErrorKind::Valgrind, format!("a program failed under valgrind: {tail}")));
        }
        Ok(log)
    }
}

/// Returns the total in callgrind's log: the line `Collected`, or otherwise the line `I refs`.
fn total_of_instructions(log: &str) -> Option<u64> {
    let value_of = |label: &str| {
        log.lines()
            .filter_map(|line| line.strip_prefix("==")?.split_once("== ")?.1.split_once(':'))
            .find(|(name, _)| name.split_whitespace().eq(label.split_whitespace()))
            .and_then(|(_, value)| value.split_whitespace().next()?.replace(',', "").parse().ok())
    };
    value_of("Collected").or_else(|| value_of("I refs"))
}

/// Counts lines such as `SYSCALL[7,1](44) sys_sendto ( ... )`.
fn count_calls(log: &str, names: &[&str]) -> u64 {
    let called = |line: &str| {
        let call = line.strip_prefix("SYSCALL[")?.split_once(") ")?.1.split_whitespace().next()?;
        names.contains(&call.trim_start_matches("sys_")).then_some(())
    };
    log.lines().filter_map(called).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_collected_line_is_the_total_and_the_references_line_does_without_it() {
        let log =
            "==4242== Events    : Ir Dr\n==4242== Collected : 1903277 5\n==4242== I   refs:      1,903,278\n";
        assert_eq!(total_of_instructions(log), Some(1_903_277));
        assert_eq!(total_of_instructions(&log.replace("Collected", "Something")), Some(1_903_278));
        for other in ["Collected : 5\n", "==1== Collected : many\n", ""] {
            assert_eq!(total_of_instructions(other), None);
        }
    }

    #[test]
    fn system_calls_are_counted_by_name() {
        let log = "SYSCALL[9,1](44) sys_sendto ( 3 ) --> 5\nSYSCALL[9,1]( 45) sys_recvfrom ( 3 )\nsys_sendto ( 3 )\n";
        assert_eq!(count_calls(log, &["sendto", "recvfrom"]), 2);
        assert_eq!(count_calls(log, &["sendto"]), 1);
    }
}
