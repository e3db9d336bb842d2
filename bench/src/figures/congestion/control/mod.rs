//! The controls that are compared: in the datapath, and by an agent.

mod late;
mod reporting;
mod start;

pub(super) use start::Start;

use crate::harness::thread_time;
use crate::{Error, ErrorKind};
use bertha_ccp::algorithms::{self, Aggregated, Grouping, SharedWindow};
use bertha_ccp::{AgentEnd, BundleControl, Ccp, Pace};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic, NewReno};
use late::{LateEnd, late};
use portus::ipc::{BackendBuilder, Ipc};
use portus::{CongAlg, RunBuilder};
pub(super) use reporting::Reporting;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

/// The window with which flows begin under [`Control::Reporting`], in packets: the smallest that CCP sets.
const INITIAL: u32 = 2;

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// NewReno in the datapath, for each acknowledgement.
    NewReno,
    Cubic,
    Bbr,
    /// NewReno by an agent in lockstep, which answers in no time.
    CcpNewReno,
    CcpCubic,
    CcpCopa,
    CcpVegas,
    CcpBbr,
    /// The flows of a host under a common window, by an agent.
    CcpShared,
    /// NewReno by an agent that gets reports at this interval, and whose answers take effect after this time.
    Reporting {
        period: Duration,
        staleness: Duration,
    },
    /// A way to write slow start.
    SlowStart(Start),
}

impl Control {
    /// Starts the agent, if there is one.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if it can't be started.
    pub(super) fn start(self) -> Result<Started, Error> {
        match self {
            Self::NewReno | Self::SlowStart(Start::Datapath) => {
                Ok(Started::without_agent(Reliable::new().with(NewReno)))
            }
            Self::Cubic => Ok(Started::without_agent(Reliable::new().with(Cubic))),
            Self::Bbr => Ok(Started::without_agent(Reliable::new().with(Bbr))),
            Self::CcpNewReno => Started::with_agent(|| algorithms::NewReno),
            Self::CcpCubic => Started::with_agent(algorithms::Cubic::default),
            Self::CcpCopa => Started::with_agent(algorithms::Copa::without_competition),
            Self::CcpVegas => Started::with_agent(algorithms::Vegas::default),
            Self::CcpBbr => Started::with_agent(|| algorithms::Bbr),
            Self::CcpShared => Started::with_agent(|| Aggregated::new(SharedWindow::newreno(Grouping::Host))),
            Self::Reporting { period, staleness } => {
                Started::with_late_agent(staleness, move || Reporting { period, initial: Some(INITIAL) })
            }
            Self::SlowStart(start) => Started::with_agent(move || start),
        }
    }
}

impl fmt::Display for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewReno => f.write_str("NewReno"),
            Self::Cubic => f.write_str("Cubic"),
            Self::Bbr => f.write_str("BBR"),
            Self::CcpNewReno => f.write_str("NewReno by CCP"),
            Self::CcpCubic => f.write_str("Cubic by CCP"),
            Self::CcpCopa => f.write_str("Copa by CCP"),
            Self::CcpVegas => f.write_str("Vegas by CCP"),
            Self::CcpBbr => f.write_str("BBR by CCP"),
            Self::CcpShared => f.write_str("NewReno by CCP, shared"),
            Self::Reporting { period, staleness } => {
                write!(f, "NewReno by CCP each {period:?}, after {staleness:?}")
            }
            Self::SlowStart(start) => write!(f, "{start}"),
        }
    }
}

/// A running control.
pub(super) struct Started {
    stack: Reliable,
    ccp: Option<Ccp>,
    agent: Option<Agent>,
}

/// A thread that runs an agent, and returns its processor time.
struct Agent {
    goes_on: Arc<AtomicBool>,
    thread: JoinHandle<Duration>,
}

impl Agent {
    /// Runs an algorithm at this end of a link. It is made on the agent's thread, since some algorithms can't leave
    /// their thread.
    fn run<I: Ipc, A: CongAlg<I> + 'static>(
        end: I,
        make: impl FnOnce() -> A + Send + 'static,
    ) -> Result<Self, Error> {
        let goes_on = Arc::new(AtomicBool::new(true));
        let seen = goes_on.clone();
        let run = move || {
            let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(make());
            // The agent ends with an error that says that it was stopped.
            let _ended = agent.with_stop_handle(seen).run();
            thread_time()
        };
        let thread = std::thread::Builder::new().name("agent".to_owned()).spawn(run);
        let thread = thread.map_err(Error::while_doing(ErrorKind::Bertha, "starting an agent"))?;
        Ok(Self { goes_on, thread })
    }
}

impl Started {
    fn without_agent(stack: Reliable) -> Self {
        Self { stack, ccp: None, agent: None }
    }

    /// Starts an agent.
    fn with_agent<A: CongAlg<AgentEnd> + 'static>(
        make: impl FnOnce() -> A + Send + 'static,
    ) -> Result<Self, Error> {
        let (ccp, end) = Ccp::in_process(Pace::Lockstep);
        let stack = Reliable::new().with(ccp.clone());
        Ok(Self { stack, ccp: Some(ccp), agent: Some(Agent::run(end, make)?) })
    }

    /// Starts an agent whose answers take effect after `staleness`.
    fn with_late_agent<A: CongAlg<LateEnd> + 'static>(
        staleness: Duration,
        make: impl FnOnce() -> A + Send + 'static,
    ) -> Result<Self, Error> {
        let (ccp, end) = Ccp::in_process(Pace::Lockstep);
        let (late, end) = late(ccp, end, staleness);
        Ok(Self { stack: Reliable::new().with(late), ccp: None, agent: Some(Agent::run(end, make)?) })
    }

    /// Returns the stack of a flow.
    pub(super) fn stack(&self) -> Reliable {
        self.stack.clone()
    }

    /// Returns a control of a bundle by the agent, if there is one, for packets of this number of bytes.
    pub(super) fn bundle_control(&self, packet: usize) -> Option<BundleControl> {
        let ccp = self.ccp.clone()?.fallback(BundleControl::UNLIMITED);
        Some(BundleControl::new(&ccp, packet as u64))
    }

    /// Stops the agent, and returns its processor time: zero without an agent.
    pub(super) fn stop(mut self) -> Duration {
        self.end()
    }

    fn end(&mut self) -> Duration {
        let Some(agent) = self.agent.take() else { return Duration::ZERO };
        agent.goes_on.store(false, Relaxed);
        agent.thread.join().unwrap_or_default()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        self.end();
    }
}
