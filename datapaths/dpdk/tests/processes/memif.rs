//! Two processes that share memory.

use super::child::{Child, Role};
use super::{has, has_dpdk, skip};

fn echoes(name: &str, polling: &str, within: &[&str], count: usize) {
    let socket = std::env::temp_dir().join(format!("bertha-{name}-{}", std::process::id()));
    // An earlier process with this number may have left a socket, as another user.
    let _ = std::fs::remove_file(&socket);
    let device =
        |role: &str| format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
    let start = |role: &str, side: &str, address: &str| {
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count,
            settings: &[("DEVICE", &device(side)), ("ADDRESS", address), ("POLLING", polling)],
            within,
            unprivileged: true,
        })
    };
    let mut server = start("serve", "server", "10.0.0.1/24");
    assert_eq!(server.says(), "ready");
    // Two clients come one after another, so that the port finds its peer again.
    for _ in 0..2 {
        let mut client = start("ask", "client", "10.0.0.2/24");
        assert_eq!(client.says(), "done");
    }
}

#[test]
fn unprivileged_processes_talk_over_shared_memory() {
    if has_dpdk() {
        echoes("memif", "inline", &[], 32_000);
    }
}

/// The large frames need more than one of the driver's default buffers, and fit into one of Bertha's. Short
/// frames lie between them: where a long frame lay before, DPDK 22.11's driver takes a short frame for the
/// beginning of another long frame.
#[test]
fn frames_are_as_large_as_they_are_to_be() {
    if !has_dpdk() {
        return;
    }
    let socket = std::env::temp_dir().join(format!("bertha-memif-large-{}", std::process::id()));
    let start = |role: &str, side: &str, address: &str| {
        let device = format!("net_memif0,role={side},socket={},socket-abstract=no", socket.display());
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count: 16_384,
            settings: &[("DEVICE", &device), ("ADDRESS", address), ("MTU", "9000")],
            within: &[],
            unprivileged: true,
        })
    };
    let mut server = start("serve", "server", "10.0.0.1/24");
    assert_eq!(server.says(), "ready");
    let mut client = start("ask-large", "client", "10.0.0.2/24");
    assert_eq!(client.says(), "echoed 16384 of up to 8972");
}

/// A killed server leaves its socket, at which no process listens; a living server is not disturbed, and
/// named.
#[test]
fn a_server_takes_the_place_of_one_that_was_killed() {
    if !has_dpdk() {
        return;
    }
    let socket = std::env::temp_dir().join(format!("bertha-memif-killed-{}", std::process::id()));
    let device = format!("net_memif0,role=server,socket={},socket-abstract=no", socket.display());
    let start = |role: &str| {
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count: 0,
            settings: &[("DEVICE", &device), ("ADDRESS", "10.0.0.1/24")],
            within: &[],
            unprivileged: true,
        })
    };
    for _ in 0..2 {
        let mut server = start("serve");
        assert_eq!(server.says(), "ready");
        let said = start("open").says();
        assert!(said.contains("another server listens there"), "{said}");
        server.kill();
        assert!(socket.exists(), "what is left behind is what this is about");
    }
    std::fs::remove_file(&socket).unwrap();
}

#[test]
fn a_polling_thread_does_as_well() {
    if has_dpdk() {
        echoes("memif-thread", "thread", &[], 3_200);
    }
}

#[test]
fn two_that_poll_share_a_core() {
    if !has("taskset") {
        return skip("two that poll on one core: taskset is not installed");
    }
    if has_dpdk() {
        echoes("memif-one-core", "inline", &["taskset", "-c", "0"], 1_600);
    }
}
