//! Congestion control by an agent in another process, and any control by its name.
//!
//! The agent is reached over a Unix socket or, with the feature `shm`, through shared memory.
//!
//! [`Choice`] takes a name, as of a command line: `cubic`, or `agent:copa` for the algorithm `copa` of the agent on this
//! machine, which is the program `bertha-agent` or any program of portus. [`Ccp`] has more settings. The guide
//! [`congestion`](crate::guide::congestion) tells how to run an agent and how to write an algorithm.
//!
//! ```no_run
//! use bertha::ccp::Choice;
//! use bertha::chunnels::{Ordered, Reliable};
//! use bertha::prelude::*;
//!
//! # async fn example() -> Result<(), bertha::Error> {
//! let control: Choice = "agent:copa".parse()?;
//! let stack = make_stack!(Ordered::new(), Reliable::new().with(control.open()?));
//! let connection = stack.connect(bertha::datapath(), "192.0.2.7:4242").await?;
//! # Ok(()) }
//! ```

#[doc(inline)]
pub use bertha_ccp::{Ccp, CcpStatistics, Choice, Limits};
