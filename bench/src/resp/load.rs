//! A run of `redis-benchmark`.

use crate::{Error, ErrorKind};
use std::process::Command;

/// The load on a server.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) port: u16,
    /// Number of commands that each client sends before it waits for replies.
    pub(super) pipelined: u32,
    /// Number of commands of each kind.
    pub(super) requests: u32,
}

/// Commands answered per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) set: f64,
    pub(super) get: f64,
}

impl Load {
    /// Runs the load on the calling thread's core, with the program's own 50 clients, over 100,000 keys.
    ///
    /// # Errors
    /// [`ErrorKind::Core`] if the program can't be started, [`ErrorKind::Stalled`] if it fails.
    pub(super) fn run(self) -> Result<Sample, Error> {
        let Self { port, pipelined, requests } = self;
        let options =
            format!("-h 127.0.0.1 -p {port} -t set,get -n {requests} -P {pipelined} -r 100000 --csv");
        let output = Command::new("redis-benchmark").args(options.split(' ')).output();
        let output = output.map_err(Error::while_doing(ErrorKind::Core, "starting redis-benchmark"))?;
        let table = String::from_utf8_lossy(&output.stdout);
        match (rate(&table, "SET"), rate(&table, "GET")) {
            (Some(set), Some(get)) if output.status.success() => Ok(Sample { set, get }),
            _ => {
                let said = String::from_utf8_lossy(&output.stderr).into_owned();
                Err(Error::new(ErrorKind::Stalled, format!("redis-benchmark failed: {table}{said}")))
            }
        }
    }
}

/// Returns the second column of a command's row.
fn rate(table: &str, command: &str) -> Option<f64> {
    let row = table.lines().find_map(|line| line.strip_prefix(&format!("\"{command}\",\"")))?;
    row.split('"').next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_read_from_the_table() {
        let table =
            "\"test\",\"rps\",\"avg_latency_ms\"\n\"SET\",\"1250.50\",\"0.1\"\n\"GET\",\"2000.00\",\"0.2\"\n";
        assert_eq!((rate(table, "SET"), rate(table, "GET")), (Some(1250.5), Some(2000.0)));
        assert_eq!(rate(table, "INCR"), None);
    }
}
