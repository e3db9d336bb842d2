//! The controls that are compared: in the datapath, and by an agent.

mod reporting;
mod start;

pub(super) use start::Start;

use crate::{Error, ErrorKind};
use bertha_ccp::{AgentEnd, Ccp, Pace, algorithms};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic, NewReno};
use portus::ipc::BackendBuilder;
use portus::{CCPHandle, CongAlg, RunBuilder};
use reporting::Reporting;
use std::fmt;
use std::time::Duration;

/// A congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Control {
    /// In the datapath, for each acknowledgement.
    NewReno,
    Cubic,
    Bbr,
    /// By an agent in lockstep, which answers in no time.
    CcpNewReno,
    CcpCubic,
    CcpCopa,
    CcpVegas,
    CcpBbr,
    /// NewReno by an agent that is told so often.
    Reporting(Duration),
    /// One way to write slow start.
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
            Self::CcpNewReno => Started::with_agent(algorithms::NewReno),
            Self::CcpCubic => Started::with_agent(algorithms::Cubic),
            Self::CcpCopa => Started::with_agent(algorithms::Copa),
            Self::CcpVegas => Started::with_agent(algorithms::Vegas),
            Self::CcpBbr => Started::with_agent(algorithms::Bbr),
            Self::Reporting(period) => Started::with_agent(Reporting { period }),
            Self::SlowStart(start) => Started::with_agent(start),
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
            Self::Reporting(period) => write!(f, "NewReno by CCP each {period:?}"),
            Self::SlowStart(start) => write!(f, "{start}"),
        }
    }
}

/// A control that runs.
pub(super) struct Started {
    stack: Reliable,
    agent: Option<CCPHandle>,
}

impl Started {
    fn without_agent(stack: Reliable) -> Self {
        Self { stack, agent: None }
    }

    fn with_agent<A: CongAlg<AgentEnd> + Send + 'static>(algorithm: A) -> Result<Self, Error> {
        let (ccp, end) = Ccp::in_process(Pace::Lockstep);
        let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
        let failed =
            |error: portus::Error| Error::new(ErrorKind::Bertha, "starting an agent").because(error.0);
        let agent = agent.spawn_thread().run().map_err(failed)?;
        Ok(Self { stack: Reliable::new().with(ccp), agent: Some(agent) })
    }

    /// The stack of a flow.
    pub(super) fn stack(&self) -> Reliable {
        self.stack.clone()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        if let Some(agent) = self.agent.take() {
            agent.kill();
            // It ends with an error that says that it was told to.
            agent.wait().unwrap_or_default();
        }
    }
}
