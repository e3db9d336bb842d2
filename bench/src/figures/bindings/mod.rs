//! The program `bertha-bench bindings`: connections of programs in other languages, against the same in Rust.
//!
//! Both ends of an echo in C are one thread that polls, as those of the echo in Rust that it is compared with. A message is
//! there when it is polled for, so that a count has no polls in vain. The ends of a program in Python are processes, as those of the
//! program that it is compared with.

mod apart;
mod by_c;
mod by_rust;
mod messages;
mod python;

use crate::Error;
use crate::harness::{Counter, Effort};
use crate::report::{Budget, Report};
pub(crate) use messages::{SendOptions, send, serve};

/// Size of a message in bytes.
const BYTES: usize = 64;

/// The stack of both ends, as the text that C has for it.
const STACK: &str = "checksum";

/// Budgets of instructions in C against Rust: of single messages, and of bursts.
const SINGLE: Budget = Budget::AtMost(1.15);
const BURSTS: Budget = Budget::AtMost(1.05);

/// Number of messages in a burst.
const BURST: usize = 64;

/// The datapaths by their names.
const DATAPATHS: [&str; 2] = ["shm", "udp"];

/// Measures the rows.
///
/// # Errors
/// Errors of the counter, and of the programs in Python.
pub(crate) fn run(effort: Effort) -> Result<Report, Error> {
    let mut report = Report::new("bindings");
    for datapath in DATAPATHS {
        for (count, what, budget) in [(1, "a message", SINGLE), (BURST, "a burst of 64", BURSTS)] {
            let rounds = effort.pick(10_000, 2_000) / count as u64;
            let name = format!("{datapath}, {what}, both ends, per round trip");
            let of = |language: &str| {
                Counter::of_probe(format!("bindings-{language}-{datapath}-{count}"))?.instructions(rounds)
            };
            let rust = report.count(&format!("{name}, Rust with boxed stacks"), of("rust"))?;
            let c = report.count(&format!("{name}, C"), of("c"))?;
            if let (Some(rust), Some(c)) = (rust, c) {
                report.bounded(format!("{name}, C to Rust"), c / rust, "x", budget);
            }
        }
    }
    python::rows(&mut report, effort)?;
    Ok(report)
}

/// Runs a probe, such as `c-udp-64`, if there is a probe with this name.
pub(crate) fn probe(name: &str, rounds: u64) -> Option<Result<(), Error>> {
    let (language, rest) = name.split_once('-')?;
    let (datapath, count) = rest.split_once('-')?;
    let datapath = DATAPATHS.into_iter().find(|known| *known == datapath)?;
    let count = [1, BURST].into_iter().find(|known| known.to_string() == count)?;
    match language {
        "c" => Some(by_c::echo(datapath, count, rounds)),
        "rust" => Some(by_rust::echo(datapath, count, rounds)),
        _ => None,
    }
}

/// Returns an address to listen at, and a folder that is there as long as the address.
fn address(datapath: &str) -> Result<(String, tempfile::TempDir), Error> {
    let folder = tempfile::tempdir()
        .map_err(Error::while_doing(crate::ErrorKind::Socket, "making a folder for a socket"))?;
    let address = match datapath {
        "udp" => "127.0.0.1:0".to_owned(),
        _ => format!("unix:{}", folder.path().join("echo").display()),
    };
    Ok((address, folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_probe_runs() {
        for language in ["c", "rust"] {
            for datapath in DATAPATHS {
                for count in [1, BURST] {
                    probe(&format!("{language}-{datapath}-{count}"), 200).unwrap().unwrap();
                }
            }
        }
        for none in ["c", "c-udp", "c-udp-2", "c-tcp-1", "java-udp-1"] {
            assert!(probe(none, 1).is_none(), "{none}");
        }
    }
}
