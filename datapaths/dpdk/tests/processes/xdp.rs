//! A port of AF_XDP, with the kernel at the other end of the wire.

use super::namespaces::Namespaces;
use std::fs::read_dir;

const SETTINGS: [(&str, &str); 2] =
    [("DEVICE", "net_af_xdp0,iface=va"), ("ADDRESS", "10.99.0.1/24,fd99::1/64")];

/// The application holds so many messages that the port receives into buffers at the end of its pool, too.
#[test]
fn a_port_of_af_xdp_hears_with_all_of_its_buffers() {
    let Some(namespaces) = Namespaces::new("bkx") else { return };
    let mut server = namespaces.child("b", "kernel-serve", "0.0.0.0:7", 0, &[]);
    assert_eq!(server.says(), "ready");
    // The device may be named to DPDK alone.
    let named = [SETTINGS[0], SETTINGS[1], ("PORT", "net_af_xdp0")];
    let eal = "--no-pci --no-huge --no-shconf --no-telemetry -m 256 --vdev=net_af_xdp0,iface=va";
    let found = [("EAL", eal), SETTINGS[1], ("PORT", "net_af_xdp0")];
    for settings in [&SETTINGS[..], &named, &found] {
        let mut client = namespaces.child("a", "ask-and-hold", "10.99.0.2:7", 12_000, settings);
        assert_eq!(client.says(), "done");
    }
}

/// The application holds all buffers, so that the port hears nothing more. Drivers differ in what they count then.
#[test]
fn a_deaf_port_is_counted_and_hears_again_with_free_buffers() {
    let Some(namespaces) = Namespaces::new("bkd") else { return };
    let mut server = namespaces.child("b", "kernel-serve", "0.0.0.0:7", 0, &[]);
    assert_eq!(server.says(), "ready");
    for device in ["net_af_xdp0,iface=va", "net_af_packet0,iface=va"] {
        let settings = [("DEVICE", device), SETTINGS[1], ("BUFFERS", "8191")];
        let mut client = namespaces.child("a", "hold-all", "10.99.0.2:7", 0, &settings);
        assert_eq!(client.says(), "deaf");
        assert_eq!(client.says(), "hears");
    }
}

/// The second process asks for the queue while the first has it, or while the kernel still closes the first's socket.
#[test]
fn the_queue_of_a_process_that_was_killed_is_waited_for() {
    let Some(namespaces) = Namespaces::new("bkw") else { return };
    let mut first = namespaces.child("a", "end", "-", 0, &SETTINGS);
    assert_eq!(first.says(), "open");
    let settings = [SETTINGS[0], ("ADDRESS", "10.99.0.3/24")];
    let mut second = namespaces.child("a", "take-over", "-", 0, &settings);
    assert_eq!(second.says(), "takes over");
    first.kill();
    assert_eq!(second.says(), "open");
}

/// Returns the number of claims of an address.
fn claims(address: &str) -> usize {
    let end = format!("-{address}.lock");
    let is_claim = |name: &str| name.starts_with("bertha-dpdk-") && name.ends_with(&end);
    read_dir("/run")
        .unwrap()
        .filter(|it| it.as_ref().unwrap().file_name().to_str().is_some_and(is_claim))
        .count()
}

#[test]
fn a_process_that_ends_in_order_leaves_nothing_behind() {
    let Some(namespaces) = Namespaces::new("bky") else { return };
    let address = format!("10.98.{}.77", std::process::id() % 256);
    let (before, with_prefix) = (claims(&address), format!("{address}/24"));
    let settings = [("DEVICE", "net_af_xdp0,iface=va"), ("ADDRESS", &*with_prefix)];
    let mut child = namespaces.child("a", "end", "-", 0, &settings);
    assert_eq!(child.says(), "open");
    let link = || namespaces.run("a", &["ip", "link", "show", "va"]);
    assert!(link().contains("xdp") && claims(&address) == before + 1);
    child.hears("\n");
    child.ends();
    let said = link();
    assert!(!said.contains("xdp") && claims(&address) == before, "{said}");
}
