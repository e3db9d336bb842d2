//! The agent's process.

use super::super::control::Reporting;
use crate::{Error, ErrorKind};
use bertha_ccp::{AgentSocket, Ccp};
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::path::Path;
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time for the start of the process.
const PATIENCE: Duration = Duration::from_secs(5);

/// An agent in another process, which ends with this value.
pub(super) struct AgentProcess {
    child: Child,
    folder: TempDir,
    controls: AtomicU64,
}

impl AgentProcess {
    /// Starts an agent with a report each `period`.
    pub(super) fn start(period: Duration) -> Result<Self, Error> {
        let folder =
            tempfile::tempdir().map_err(Error::while_doing(ErrorKind::Socket, "making a directory"))?;
        let program = std::env::current_exe();
        let program =
            program.map_err(Error::while_doing(ErrorKind::Report, "finding the running program"))?;
        let mut command = Command::new(program);
        command.arg("agent").arg(folder.path().join("agent")).arg(period.as_micros().to_string());
        let child = command.spawn().map_err(Error::while_doing(ErrorKind::Bertha, "starting an agent"))?;
        let agent = Self { child, folder, controls: AtomicU64::new(0) };
        let start = Instant::now();
        while !agent.folder.path().join("agent").exists() {
            if start.elapsed() > PATIENCE {
                return Err(Error::new(ErrorKind::Stalled, "an agent does not start"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(agent)
    }

    /// Returns a congestion control by the agent.
    pub(super) fn control(&self) -> Result<Ccp, Error> {
        let own = format!("datapath-{}", self.controls.fetch_add(1, Relaxed));
        let folder = self.folder.path();
        let ccp = Ccp::unix(folder.join(own), folder.join("agent"));
        ccp.map_err(Error::while_doing(ErrorKind::Bertha, "connecting to an agent"))
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _ends_by_the_kill = self.child.wait();
    }
}

/// Is the agent: controls the flows of all datapaths at `socket`, until the process is killed.
///
/// # Errors
/// [`ErrorKind::Bertha`] if there can be no socket.
pub(crate) fn serve(socket: &Path, period: Duration) -> Result<(), Error> {
    let failed = Error::while_doing(ErrorKind::Bertha, "listening as an agent");
    let sock = AgentSocket::bind(socket, &[]).map_err(failed)?;
    let agent = RunBuilder::new(BackendBuilder { sock }).default_alg(Reporting { period }).run();
    agent.map_err(|error| Error::new(ErrorKind::Bertha, error.0))
}
