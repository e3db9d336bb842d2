//! CCP as a congestion control of [`Reliable`](bertha_chunnels::Reliable).

mod choice;
mod flow_control;
mod limits;
mod presence;

pub use choice::Choice;
pub use limits::Limits;

use crate::connect;
use crate::datapath::{CcpStatistics, Datapath};
use crate::message::{AlgorithmName, Malformed};
use bertha_chunnels::congestion::{Algorithm, CongestionControl, NewFlow, NewReno};
use bertha_core::Error;
use flow_control::FlowControl;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Congestion control by an agent, for [`Reliable::with`](bertha_chunnels::Reliable::with).
///
/// Until the agent has chosen a program for a flow, and whenever it is gone or silent for the
/// [time-out](Self::agent_timeout), [`NewReno`](bertha_chunnels::congestion::NewReno), or another
/// [fallback](Self::fallback), controls the flow. The flow is then announced to the agent again from time to time, and the agent takes over when it answers.
///
/// A program that reads signals which a flow's transport lacks is refused for this flow, with the names of
/// the signals (`Datapath::refusals`), and the fallback controls the flow. The marks of routers are such
/// signals: [`Reliable`](bertha_chunnels::Reliable) has them with [`ecn`](bertha_chunnels::Reliable::ecn).
///
/// Clones share the agent. The connection to the agent ends when the last clone and the last flow are
/// dropped.
#[derive(Debug, Clone)]
pub struct Ccp {
    datapath: Arc<Datapath>,
    settings: Settings,
}

#[derive(Debug, Clone)]
struct Settings {
    limits: Limits,
    timeout: Duration,
    algorithm: AlgorithmName,
    fallback: Arc<dyn Algorithm>,
}

/// The default time-out.
const TIMEOUT: Duration = Duration::from_secs(5);

impl Ccp {
    /// The agent at the Unix datagram socket `agent`, for instance `/tmp/ccp/portus`, which is where portus listens under the name
    /// `portus`. `own` is the path of this end, which is created; the socket of a process that is gone is replaced. Only the
    /// user of this process and root may write to it.
    ///
    /// A message counts if it comes from a socket at `agent` and from a process of the user of this process, or of root; the kernel
    /// vouches for the user. The path alone proves nothing, since a process chooses what it sees there. So every process of the two users
    /// can control the flows, within their [limits](Self::limits), and a process of another user can't.
    ///
    /// The agent need not be there yet. A thread receives from it.
    ///
    /// # Errors
    /// [`Io`](bertha_core::ErrorKind::Io) if the socket can't be made, [`Invalid`](bertha_core::ErrorKind::Invalid)
    /// if `agent` is no path of a socket.
    pub fn unix(own: impl AsRef<Path>, agent: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::over(connect::connect(own.as_ref(), agent.as_ref())?))
    }

    /// The agent at the Unix datagram socket `agent`, as [`unix`](Self::unix), with a socket of its own for this end: in the folder
    /// of the user's running programs (`XDG_RUNTIME_DIR`), or else in that of temporary files. Sockets there that killed
    /// processes have left behind are removed.
    ///
    /// # Errors
    /// [`Io`](bertha_core::ErrorKind::Io) if the socket can't be made, [`Invalid`](bertha_core::ErrorKind::Invalid)
    /// if `agent` is no path of a socket.
    pub fn connect(agent: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::over(connect::connect_anywhere(agent.as_ref())?))
    }

    /// The agent that listens at `agent` for processes that share memory with it, as `bertha-agent --shm` does. Messages go through
    /// two rings of 512 KiB, and survive neither end. Memory is shared with a process of the user of this process, or of
    /// root, alone; the kernel vouches for the user.
    ///
    /// The agent need not be there yet. A thread connects to it, again and again, and receives from it. The call waits for the first
    /// attempt, for a tenth of a second at most.
    ///
    /// # Errors
    /// [`Io`](bertha_core::ErrorKind::Io) if the thread can't be started.
    #[cfg(feature = "shm")]
    pub fn shm(agent: impl AsRef<Path>) -> Result<Self, Error> {
        Ok(Self::over(connect::memory::connect(agent.as_ref())?))
    }

    /// Makes a congestion control by an agent in this process, and returns the agent's end:
    /// `portus::RunBuilder` runs algorithms on it.
    #[cfg(feature = "agent")]
    pub fn in_process(pace: connect::Pace) -> (Self, connect::AgentEnd) {
        let (datapath, agent) = connect::in_process(pace);
        (Self::over(datapath), agent)
    }

    /// Makes a congestion control by an agent behind any link.
    pub fn over(datapath: Arc<Datapath>) -> Self {
        let settings = Settings {
            limits: Limits::NONE,
            timeout: TIMEOUT,
            algorithm: AlgorithmName::DEFAULT,
            fallback: Arc::new(NewReno),
        };
        Self { datapath, settings }
    }

    /// Requests the algorithm of this name. An agent that has no such algorithm uses its default, as programs of
    /// portus do, or leaves the flow to NewReno, as `bertha-agent` does.
    ///
    /// # Errors
    /// `Malformed::Name` for a name of more than 63 bytes.
    pub fn algorithm(mut self, name: &str) -> Result<Self, Malformed> {
        self.settings.algorithm = AlgorithmName::new(name)?;
        Ok(self)
    }

    /// Sets the limits that no agent may exceed.
    #[must_use]
    pub fn limits(mut self, limits: Limits) -> Self {
        self.settings.limits = limits;
        self
    }

    /// Sets the time for which reports of a flow may stay without any message from the agent about that flow.
    /// The default is five seconds. Algorithms that rarely answer reports need more.
    #[must_use]
    pub fn agent_timeout(mut self, timeout: Duration) -> Self {
        self.settings.timeout = timeout;
        self
    }

    /// Sets the algorithm that controls flows while there is no agent, in place of
    /// [`NewReno`](bertha_chunnels::congestion::NewReno).
    #[must_use]
    pub fn fallback(mut self, algorithm: impl Algorithm) -> Self {
        self.settings.fallback = Arc::new(algorithm);
        self
    }

    /// Returns the numbers of flows of all clones.
    pub fn statistics(&self) -> CcpStatistics {
        self.datapath.statistics()
    }

    /// Returns the programs and flows of all clones.
    pub fn datapath(&self) -> &Datapath {
        &self.datapath
    }
}

impl Algorithm for Ccp {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        self.start_flow(&NewFlow::unnamed(packet))
    }

    fn start_flow(&self, flow: &NewFlow) -> Box<dyn CongestionControl> {
        Box::new(FlowControl::new(self.datapath.clone(), self.settings.clone(), flow))
    }
}
