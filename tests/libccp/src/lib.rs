//! libccp's datapath beside Bertha's: as a congestion control of `Reliable`, and flows over an emulated link that show its windows.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "for tests, which panic to fail")]

mod agent;
mod datapath;
mod flow;

pub use agent::{ToAgent, answer, stop};
pub use datapath::Libccp;
pub use flow::{PACKET, Sample, flow};
