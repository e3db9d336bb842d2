//! The agent's end of a Unix socket, for programs that run algorithms of portus.

mod flows;
mod socket;

pub use flows::{AgentTotals, FlowStatus};
pub use socket::{AgentFlows, AgentSocket};
