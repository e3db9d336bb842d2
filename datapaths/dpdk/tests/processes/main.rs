//! Ports of several processes: shared memory between two of them, the kernel's stack at the other end, and packets as Wireshark
//! dissects them.
//!
//! Each child is this program once more, told by `BERTHA_TEST_ROLE` what to do; DPDK allows one environment per process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod child;
mod golden;
mod kernel;
mod memif;
mod namespaces;
mod queues;
mod tap;
#[cfg(feature = "tcp")]
mod tcp;
mod vhost;

use std::process::Command;

/// Says that a test did not take place.
///
/// # Panics
/// If `CI` is `true`.
#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
}

/// Whether there is a DPDK; says loudly if not.
fn has_dpdk() -> bool {
    if !bertha_datapath_dpdk::AVAILABLE {
        skip("ports of several processes: DPDK is not installed; see scripts/dpdk install");
    }
    bertha_datapath_dpdk::AVAILABLE
}

/// Whether there is such a program.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
