//! The agent's ends of the connections to datapaths, for programs that run algorithms of portus.

mod admission;
mod flows;
#[cfg(feature = "shm")]
mod memory;
#[cfg(feature = "shm")]
mod places;
mod socket;

pub use flows::{AgentFlows, AgentTotals, FlowStatus};
#[cfg(feature = "shm")]
pub use memory::AgentMemory;
pub use socket::AgentSocket;
