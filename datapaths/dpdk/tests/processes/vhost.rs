//! Two processes that share memory as a virtual machine and its host do: the first is the host (`net_vhost`),
//! with the socket, the second the machine's interface (`net_virtio_user`).

use super::child::{Child, Role};
use super::{has_dpdk, skip};
use std::fs;
use std::path::Path;
use std::process::Command;

/// Returns true if DPDK loads the drivers; prints a loud message if not.
fn has_drivers() -> bool {
    let output = Command::new("pkg-config").args(["--variable", "libdir", "libdpdk"]).output().unwrap();
    let folder = Path::new(String::from_utf8_lossy(&output.stdout).trim()).join("dpdk");
    // The release has a folder of drivers; there is none if the drivers are linked.
    let folders = fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path());
    let Some(drivers) = folders.into_iter().find(|folder| folder.is_dir()) else { return true };
    for driver in ["net_vhost", "net_virtio"] {
        if !drivers.join(format!("librte_{driver}.so")).exists() {
            skip(&format!("net_vhost and net_virtio_user: {} has no {driver}", drivers.display()));
            return false;
        }
    }
    true
}

/// Checks that the host's end answers as many clients, one after another.
fn echoes(name: &str, queues: &str) {
    if !has_dpdk() || !has_drivers() {
        return;
    }
    let socket = std::env::temp_dir().join(format!("bertha-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&socket);
    let start = |role: &str, device: &str, address: &str| {
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count: 32_000,
            settings: &[("DEVICE", device), ("ADDRESS", address), ("QUEUES", queues)],
            within: &[],
            unprivileged: true,
        })
    };
    let host = format!("net_vhost0,iface={},queues={queues}", socket.display());
    let machine = format!("net_virtio_user0,path={},queues={queues},mac=02:00:00:00:00:02", socket.display());
    let mut server = start("offload-serve", &host, "10.0.0.1/24");
    // UDP's checksum is left undone on the way, which is harmless: the datagram never is on a wire.
    assert_eq!((server.says(), server.says()), ("offload false true".into(), "ready".into()));
    for _ in 0..2 {
        let mut client = start("offload-ask", &machine, "10.0.0.2/24");
        assert_eq!((client.says(), client.says()), ("offload false true".into(), "done".into()));
    }
}

#[test]
fn a_machine_and_its_host_talk() {
    echoes("vhost", "1");
}

#[test]
fn a_machine_and_its_host_talk_through_several_queues() {
    echoes("vhost-queues", "2");
}
