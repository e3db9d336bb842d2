//! The conformance suites, over every datapath and every Chunnel of this workspace, and over wrong ones, which the suites must catch.
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what they measured"
)]

mod catches;
mod chunnels;
mod dpdk;
mod few_buffers;
mod kernel;
mod shm;
mod sim;
