//! Programs that repeat an operation a given number of times, for the counter.

use crate::figures::{congestion, passes, switch};
use crate::{Error, ErrorKind, connect, echo, kv, overhead, throughput};
use std::hint::black_box;

/// Runs the probe with this name: a program's name, a dash, and the name that the program knows; or the name
/// of a case of `overhead` or `passes`.
///
/// # Errors
/// [`ErrorKind::Probe`] when there is no such probe; otherwise the probe's own error.
pub(crate) fn run(name: &str, iterations: u64) -> Result<(), Error> {
    if let Some(case) = overhead::Case::named(name) {
        return case.probe(iterations);
    }
    if let Some(case) = passes::Case::named(name) {
        return case.probe(iterations);
    }
    let of_program = name.split_once('-').and_then(|(program, probe)| match program {
        #[cfg(feature = "bindings")]
        "bindings" => crate::figures::bindings::probe(probe, iterations),
        "congestion" => congestion::probe(probe, iterations),
        "connect" => connect::probe(probe, iterations),
        "echo" => echo::probe(probe, iterations),
        "kv" => kv::probe(probe, iterations),
        "qlog" => overhead::qlog_probe(probe, iterations),
        #[cfg(feature = "rpc")]
        "http" => crate::http::probe(probe, iterations),
        #[cfg(feature = "rpc")]
        "rpc" => crate::rpc::probe(probe, iterations),
        #[cfg(feature = "managed")]
        "managed" => crate::figures::managed::probe(probe, iterations),
        "switch" => switch::probe(probe, iterations),
        "throughput" => throughput::probe(probe, iterations),
        _ => None,
    });
    match (of_program, name) {
        (Some(outcome), _) => outcome,
        (None, "count") => {
            count(iterations);
            Ok(())
        }
        _ => Err(Error::new(ErrorKind::Probe, format!("no probe is called {name}"))),
    }
}

/// Counts up: a few instructions per iteration, to check the counter itself.
fn count(iterations: u64) {
    let mut reached = 0;
    while reached < iterations {
        reached = black_box(reached + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_is_an_error() {
        for name in ["nothing", "kv-nothing-1", "overhead-1"] {
            assert_eq!(run(name, 1).unwrap_err().kind(), ErrorKind::Probe);
        }
        assert!(run("count", 1).is_ok());
    }
}
