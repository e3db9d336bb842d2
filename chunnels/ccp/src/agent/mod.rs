//! The agent's ends of the connections to datapaths, for programs that run algorithms of portus.

mod admission;
mod check;
mod flows;
#[cfg(feature = "shm")]
mod memory;
#[cfg(feature = "shm")]
mod places;
mod socket;

pub use check::check_programs;
pub use flows::{AgentFlows, AgentTotals, FlowStatus};
#[cfg(feature = "shm")]
pub use memory::AgentMemory;
pub use socket::AgentSocket;
