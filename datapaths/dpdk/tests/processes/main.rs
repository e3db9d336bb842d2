//! Ports of several processes: shared memory between two processes, the kernel's stack as the peer, and
//! packets as Wireshark dissects them.
//!
//! Each child is this program, whose role the variable `BERTHA_TEST_ROLE` names; DPDK allows a single
//! environment per process.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

mod child;
#[cfg(feature = "tcp")]
mod flood;
mod golden;
mod kernel;
mod memif;
mod namespaces;
mod queues;
mod starts;
mod tap;
#[cfg(feature = "tcp")]
mod tcp;
mod vhost;
mod xdp;

use std::process::Command;

/// Prints that a test did not take place.
///
/// # Panics
/// Panics if `CI` is `true`.
#[allow(clippy::print_stderr, reason = "for whoever runs the tests by hand")]
fn skip(what: &str) {
    assert!(std::env::var("CI").as_deref() != Ok("true"), "must not be skipped in CI: {what}");
    eprintln!("SKIPPED: {what}");
}

/// Returns true if there is a DPDK; prints a loud message if not.
fn has_dpdk() -> bool {
    if !bertha_datapath_dpdk::AVAILABLE {
        skip("ports of several processes: DPDK is not installed; see scripts/dpdk install");
    }
    bertha_datapath_dpdk::AVAILABLE
}

/// Returns true if the program exists.
fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok()
}
