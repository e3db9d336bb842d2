//! Two processes that share memory as a virtual machine and its host do: one is the host (`net_vhost`), with the socket, the other
//! the machine's interface (`net_virtio_user`).

use super::child::{Child, Role};
use super::{has_dpdk, skip};
use std::path::Path;

/// Whether the drivers are among those that DPDK loads; says loudly if not.
fn has_drivers() -> bool {
    let folder =
        std::process::Command::new("pkg-config").args(["--variable", "driverdir", "libdpdk"]).output();
    let folder = folder.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
    let Ok(folder) = folder else { return true };
    let missing = ["net_vhost", "net_virtio"].into_iter().find(|driver| {
        Path::new(&folder).exists() && !Path::new(&folder).join(format!("librte_{driver}.so")).exists()
    });
    if let Some(driver) = missing {
        skip(&format!("net_vhost and net_virtio_user: {folder} has no {driver}"));
    }
    missing.is_none()
}

/// The host's end answers to as many clients, one after the other.
fn echoes(name: &str, queues: &str, unprivileged: bool) {
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
            settings: &[("DEVICE", device), ("ADDRESS", address)],
            within: &[],
            unprivileged,
        })
    };
    let host = format!("net_vhost0,iface={},queues={queues}", socket.display());
    let machine = format!("net_virtio_user0,path={},queues={queues},mac=02:00:00:00:00:02", socket.display());
    let mut server = start("offload-serve", &host, "10.0.0.1/24");
    // UDP's checksum is left undone on the way, and nobody misses it: it never is on a wire.
    assert_eq!((server.says(), server.says()), ("offload false true".into(), "ready".into()));
    for _ in 0..2 {
        let mut client = start("offload-ask", &machine, "10.0.0.2/24");
        assert_eq!((client.says(), client.says()), ("offload false true".into(), "done".into()));
    }
}

#[test]
fn a_machine_and_its_host_talk() {
    echoes("vhost", "1", true);
}
