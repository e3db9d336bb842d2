//! Rate traces of links, from files.

use crate::{Error, ErrorKind};
use bertha_datapath_sim::Rate;
use std::path::Path;
use std::time::Duration;

/// Number of bytes that each line of a trace lets through.
const OPPORTUNITY: u64 = 1_500;

/// Time over which bytes are counted.
const SLOT: Duration = Duration::from_millis(20);

/// Length of the longest trace.
const LONGEST: Duration = Duration::from_secs(5 * 3_600);

/// Reads a trace in the format of Mahimahi, in which many measurements of cellular networks exist: each line
/// is a time in milliseconds, in order, at which 1,500 bytes can be sent.
///
/// # Errors
/// [`ErrorKind::Trace`] if the trace can't be read, has a line that is no time or is out of order, or has no
/// lines.
pub(super) fn read(path: &Path) -> Result<Rate, Error> {
    let doing = || format!("reading the trace {}", path.display());
    let text = std::fs::read_to_string(path).map_err(Error::while_doing(ErrorKind::Trace, doing()))?;
    parse(&text).map_err(|what| Error::new(ErrorKind::Trace, format!("{}: {what}", doing())))
}

fn parse(text: &str) -> Result<Rate, String> {
    let slot = SLOT.as_millis() as u64;
    let mut rates = Vec::new();
    let mut last = 0;
    for (number, line) in text.lines().enumerate() {
        let wrong = |what| format!("line {} {what}", number + 1);
        let at: u64 = line.trim().parse().map_err(|_| wrong("is no number of milliseconds"))?;
        if at < last {
            return Err(wrong("is before the one above"));
        }
        if at > LONGEST.as_millis() as u64 {
            return Err(wrong("is later than five hours"));
        }
        last = at;
        rates.resize(rates.len().max((at / slot) as usize + 1), 0);
        rates[(at / slot) as usize] += OPPORTUNITY * 1_000 / slot;
    }
    // The trace repeats from its last time on: the slot that this time begins is no part of it.
    rates.truncate((last / slot).max(1) as usize);
    Rate::trace(SLOT, rates).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_the_rate_of_its_opportunities() {
        // The slots of 20 ms have two, none, and one; the last line ends the trace.
        let rate = parse("0\n19\n40\n60\n").unwrap();
        let expected = Rate::trace(SLOT, [150_000, 0, 75_000]).unwrap();
        assert_eq!(rate, expected);
        assert_eq!(rate.mean(), 75_000.0);
    }

    #[test]
    fn mistakes_are_named_with_their_lines() {
        for (text, what) in [
            ("1\n2\nx\n", "line 3 is no number"),
            ("5\n4\n", "line 2 is before"),
            ("99999999999999\n", "line 1 is later"),
            ("", "at most"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(what), "{text:?}: {error}");
        }
    }
}
