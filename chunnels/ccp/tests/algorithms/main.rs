//! The windows and rates of algorithms, over emulated links and marked paths.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print figures")]

mod aggregation;
mod bundler;
mod copa;
mod fidelity;
mod marks;
mod nimbus;
mod scene;
