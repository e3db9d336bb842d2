//! The cost of a qlog: a single message by `Reliable` and its acknowledgement, without and with a qlog of both ends.
//!
//! The ends are in memory and in virtual time, so that both counts have equal packets: one with the message, and one
//! that acknowledges it. A larger burst shares packets, and a qlog costs less for each message of it.

use super::failed;
use crate::harness::Counter;
use crate::report::{Budget, Report};
use crate::{Error, ErrorKind};
use bertha_chunnels::Reliable;
use bertha_chunnels::reliable::Qlog;
use bertha_core::{Base, Connection, Wrap};
use bertha_datapath_sim::{Schedule, Sim, pair};

/// Budget of a message with a qlog against a message without.
const QLOG: Budget = Budget::AtMost(1.15);

/// Length of a message, in bytes.
const LENGTH: usize = 100;

/// Adds the rows.
///
/// # Errors
/// Errors of the counter.
pub(crate) fn instructions(report: &mut Report, messages: u64) -> Result<(), Error> {
    let count = |probe: &str| Counter::of_probe(format!("qlog-{probe}"))?.instructions(messages);
    let name = "Reliable in memory, a message and its acknowledgement";
    let Some(off) = report.count(&format!("{name}, both ends"), count("off"))? else { return Ok(()) };
    let on = count("on")?;
    report.count(&format!("{name}, both ends with a qlog in a folder"), Ok(on))?;
    report.bounded(format!("{name}, with a qlog to without"), on / off, "x", QLOG);
    Ok(())
}

/// Runs the probe with this name: a message for each iteration.
pub(crate) fn probe(name: &str, messages: u64) -> Option<Result<(), Error>> {
    match name {
        "off" => Some(run(&Reliable::new(), messages)),
        "on" => Some(logged(messages)),
        _ => None,
    }
}

fn logged(messages: u64) -> Result<(), Error> {
    let folder =
        tempfile::tempdir().map_err(Error::while_doing(ErrorKind::Report, "making a folder for qlogs"))?;
    let qlog = Qlog::folder(folder.path()).map_err(failed)?.limit(u64::MAX);
    run(&Reliable::new().qlog(qlog), messages)
}

fn run(reliable: &Reliable, messages: u64) -> Result<(), Error> {
    let mut sim = Sim::new(1).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let (here, there) = pair(sim.runtime());
    let transfer = async {
        let here = reliable.wrap(here).await?;
        let there = reliable.wrap(there).await?;
        for _ in 0..messages {
            here.send(here.base().buffer(LENGTH)?).await?;
            there.recv().await?;
            here.drain().await?;
        }
        Ok(())
    };
    sim.run(transfer).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_probes_run_and_there_is_no_other() {
        for name in ["off", "on"] {
            probe(name, 3).unwrap().unwrap();
        }
        assert!(probe("maybe", 3).is_none());
    }
}
