//! The agent's process.

use super::super::control::Reporting;
use super::echo::Echo;
use crate::{Error, ErrorKind};
use bertha_ccp::{AgentMemory, AgentSocket, Ccp};
use portus::RunBuilder;
use portus::ipc::BackendBuilder;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Time for the start of the process.
const PATIENCE: Duration = Duration::from_secs(5);

/// A way from a datapath to the agent.
#[derive(Debug, Clone, Copy)]
pub(in super::super) enum Way {
    Socket,
    Memory,
}

/// An agent in another process, which ends with this value.
pub(in super::super) struct AgentProcess {
    child: Child,
    folder: TempDir,
    controls: AtomicU64,
}

impl AgentProcess {
    /// Starts an agent with a report each `period`.
    pub(in super::super) fn start(period: Duration) -> Result<Self, Error> {
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
        // The socket comes last.
        while !agent.folder.path().join("agent").exists() {
            if start.elapsed() > PATIENCE {
                return Err(Error::new(ErrorKind::Stalled, "an agent does not start"));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(agent)
    }

    /// Returns a congestion control by the agent.
    pub(in super::super) fn control(&self, way: Way) -> Result<Ccp, Error> {
        let own = format!("datapath-{}", self.controls.fetch_add(1, Relaxed));
        let folder = self.folder.path();
        let ccp = match way {
            Way::Socket => Ccp::unix(folder.join(own), folder.join("agent")),
            Way::Memory => Ccp::shm(memory(&folder.join("agent"))),
        };
        ccp.map_err(Error::while_doing(ErrorKind::Bertha, "connecting to an agent"))
    }

    /// Returns the processor time of the agent so far, of all its threads, in the kernel and outside.
    pub(in super::super) fn processor(&self) -> Result<Duration, Error> {
        let unreadable =
            || Error::new(ErrorKind::Report, "the system does not tell the agent's processor time");
        let threads = std::fs::read_dir(format!("/proc/{}/task", self.child.id()));
        let times = threads.map_err(|_| unreadable())?.flatten().filter_map(|thread| {
            let text = std::fs::read_to_string(thread.path().join("schedstat")).ok()?;
            text.split_whitespace().next()?.parse().ok().map(Duration::from_nanos)
        });
        let times: Vec<Duration> = times.collect();
        if times.is_empty() { Err(unreadable()) } else { Ok(times.into_iter().sum()) }
    }
}

impl Drop for AgentProcess {
    fn drop(&mut self) {
        let _has_ended = self.child.kill();
        let _ends_by_the_kill = self.child.wait();
    }
}

/// Returns the path at which the agent at this socket shares memory.
fn memory(socket: &Path) -> PathBuf {
    socket.with_extension("shm")
}

/// Is the agent: controls the flows of all datapaths at `socket`, and of those that share memory, until the process is
/// killed.
///
/// # Errors
/// [`ErrorKind::Bertha`] if there can be no socket.
pub(crate) fn serve(socket: &Path, period: Duration) -> Result<(), Error> {
    let failed = |error| Error::while_doing(ErrorKind::Bertha, "listening as an agent")(error);
    let ended = |error: portus::Error| Error::new(ErrorKind::Bertha, error.0);
    let memory = AgentMemory::bind(memory(socket), &[]).map_err(failed)?;
    let sock = AgentSocket::bind(socket, &[]).map_err(failed)?;
    let over_memory = RunBuilder::new(BackendBuilder { sock: memory });
    let over_memory =
        over_memory.default_alg(Reporting { period, initial: None }).additional_alg(Echo).spawn_thread();
    let _runs_until_the_end = over_memory.run().map_err(ended)?;
    let over_socket = RunBuilder::new(BackendBuilder { sock });
    over_socket.default_alg(Reporting { period, initial: None }).additional_alg(Echo).run().map_err(ended)
}
