//! The time from the death of a process until the peer of its connection learns of it.

use super::failed;
use super::round_trip::{ADAPTIVE, unused};
use crate::harness::{Effort, in_time, runtime};
use crate::report::Report;
use crate::{Error, ErrorKind};
use bertha_core::{Addr, Connection, Datapath, ErrorKind as Ended, Listener};
use bertha_datapath_shm::{Shm, Waiting};
use std::process::{Child, Command};
use std::time::Instant;

/// Measures the time in microseconds from the signal.
pub(super) fn measure(report: &mut Report, effort: Effort) -> Result<(), Error> {
    for (waits, waiting) in [("parked", Waiting::Park), ("adaptive", ADAPTIVE), ("spinning", Waiting::Spin)] {
        let deaths = (0..effort.pick(100, 10)).map(|_| one(waiting)).collect::<Result<Vec<_>, _>>()?;
        let name = format!("a process is killed, and its peer ({waits}) hears of it");
        report.median(format!("{name}, p50"), &deaths, |it| *it, "us");
        report.figure(format!("{name}, slowest"), deaths.into_iter().fold(0.0, f64::max), "us");
    }
    Ok(())
}

/// Kills a process with a connection, while this end waits for a message of the process.
fn one(waiting: Waiting) -> Result<f64, Error> {
    let on = unused("death")?;
    runtime()?.block_on(in_time(async {
        let listener = Shm::new().waiting(waiting).listen(on.clone()).await.map_err(failed)?;
        let mut child = Mortal::start(&on)?;
        let connection = listener.accept().await.map_err(failed)?;
        // The first message says that the process is there.
        connection.recv().await.map_err(failed)?;
        let killed = Instant::now();
        child.0.kill().map_err(Error::while_doing(ErrorKind::Core, "killing a process"))?;
        match connection.recv().await {
            Err(error) if matches!(error.kind(), Ended::Reset | Ended::Closed) => {
                Ok(killed.elapsed().as_secs_f64() * 1e6)
            }
            other => {
                let what =
                    format!("a killed process ends its connection with {:?}", other.map(|it| it.len()));
                Err(Error::new(ErrorKind::Bertha, what))
            }
        }
    }))
}

/// A process that is killed when the value is dropped.
struct Mortal(Child);

impl Mortal {
    fn start(peer: &Addr) -> Result<Self, Error> {
        let program = std::env::current_exe()
            .map_err(Error::while_doing(ErrorKind::Core, "finding the running program"))?;
        let started = Command::new(program).arg("mortal").arg(peer.to_string()).spawn();
        started.map(Self).map_err(Error::while_doing(ErrorKind::Core, "starting a process"))
    }
}

impl Drop for Mortal {
    fn drop(&mut self) {
        // The process may be dead already, as it is meant to be.
        let _ = (self.0.kill(), self.0.wait());
    }
}

/// Runs the process: connects to `peer`, says so, and waits for its end.
///
/// # Errors
/// Errors of the connection.
pub(crate) fn mortal(peer: &str) -> Result<(), Error> {
    let peer: Addr = peer.parse().map_err(failed)?;
    runtime()?.block_on(async {
        let connection = Shm::new().connect(peer).await.map_err(failed)?;
        connection.send(bertha_core::Buf::copy_of(&[0], 0).map_err(failed)?).await.map_err(failed)?;
        connection.recv().await.map(drop).map_err(failed)
    })
}
