//! Congestion control outside the datapath (CCP, thesis chapter 4): an agent decides, and the datapath measures and obeys.
//!
//! For each acknowledgement the datapath runs a [`Program`] that the agent has installed. The program folds
//! [`Signals`] into registers, sets window and rate, and now and then reports registers to the agent, which
//! answers with new values or another program. So an algorithm, written once, runs on every transport.
//!
//! | part | function |
//! |---|---|
//! | [`message`] | the messages between datapath and agent, byte for byte as in libccp 1.2 and portus 0.9 |
//! | [`Program`] | a compiled program, checked once, so that it can be run without checks |
//! | [`Flow`] | the registers and the program of one flow; runs once per acknowledgement, without I/O |
//! | [`Datapath`] | the programs and flows of one agent, behind a [`Link`] |
//! | [`Ccp`] | a congestion control for [`Reliable`](bertha_chunnels::Reliable) that an agent decides |
//! | [`BundleControl`] | the congestion control of a bundle of flows between two boxes, by any algorithm |
//! | [`Choice`] | any congestion control, by the name that a program takes on its command line |
//! | `AgentSocket` | the agent's end of a Unix socket, for programs of portus, with the feature `agent` |
//! | `AgentMemory` | the agent's end of shared memory, with the features `agent` and `shm` |
//! | `check_programs` | the check of an algorithm's programs before its agent runs, with the feature `agent` |
//! | `algorithms` | algorithms for agents, with the feature `agent` |
//!
//! ```no_run
//! use bertha_ccp::{Ccp, Limits};
//! use bertha_chunnels::Reliable;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // An agent built with portus listens there.
//! let ccp = Ccp::connect("/tmp/ccp/portus")?;
//! let at_most = Limits { window: 4 << 20, rate: 125_000_000 };
//! let reliable = Reliable::new().with(ccp.limits(at_most));
//! # Ok(()) }
//! ```
//!
//! The folder `python` of this crate has a package for agents in Python, with the names of pyportus.
//!
//! With the feature `quinn`, [`ForQuinn`](bertha_chunnels::congestion) makes a [`Ccp`] a congestion control
//! for connections of the crate `quinn`. The TCP over DPDK is smoltcp's TCP, which chooses among controls of
//! its own and has no interface for other controls: it can't use an agent.
//!
//! # Hostile agents
//!
//! A program can't loop, allocate, or read outside of its registers. One run takes at most 256 instructions.
//! A division by zero, an overflow and a negative difference end the run, and nothing else: see [`Fault`].
//! Window and rate stay within [`Limits`]. An agent has at most 64 programs. If the agent is gone or silent,
//! [`NewReno`](bertha_chunnels::congestion::NewReno), or another [fallback](Ccp::fallback), takes over.
//!
//! # Differences
//!
//! Where the thesis and the crates differ, this crate follows the crates:
//!
//! * There is one timer, `Micros`, and no command `(reset)`: programs write `(:= Micros 0)`.
//! * Numbers are integers; `(* 1.25 x)` is written `(/ (* x 5) 4)`.
//! * The sample of the round-trip time is `Flow.rtt_sample_us` alone, and 2^32 - 1 where there is none. `+infinity` is 2^32 - 1 too.
//! * `(fallthrough)` lets all later clauses run, not only the next clause.
//! * `Flow.bytes_pending`, `ewma` and `wrapped_max` are additions of the crates.
//! * An update of a register that takes no value makes the whole message malformed.
//!
//! Where libccp would leave its memory, run for ever or truncate, this crate differs from it:
//!
//! * A program is refused if a clause refers to instructions that the program lacks, if an instruction reads
//!   a register that does not exist, if it reports more than 110 registers, or if its clauses together run
//!   more than 256 instructions. Writing to a register that does not exist does nothing, as in libccp.
//! * An update of a register of control that does not exist does nothing.
//! * Window and rate have 64 bits; libccp cuts them to 32.
//! * A message has to be as long as its contents.
//! * `(:= Micros x)` sets the timer to `x` microseconds. The `libccp` crate subtracts `x` from a clock of
//!   nanoseconds; with 0, which programs write, both agree.

#![forbid(unsafe_code)]
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::expect_used))]

#[cfg(feature = "agent")]
mod agent;
#[cfg(feature = "agent")]
pub mod algorithms;
mod bundle;
mod connect;
mod control;
mod datapath;
mod flow;
mod machine;
pub mod message;
mod program;
mod signals;

#[cfg(all(feature = "agent", feature = "shm"))]
pub use agent::AgentMemory;
#[cfg(feature = "agent")]
pub use agent::{AgentFlows, AgentSocket, AgentTotals, FlowStatus, check_programs};
pub use bundle::BundleControl;
#[cfg(feature = "agent")]
pub use connect::{AgentEnd, Pace};
pub use control::{Ccp, Choice, Limits};
pub use datapath::{CcpStatistics, Datapath, Link, Refusal};
pub use flow::{Decision, Flow, Report};
pub use machine::Fault;
pub use program::{Program, Refused};
pub use signals::{Signal, SignalSet, Signals};
