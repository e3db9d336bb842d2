//! The packets as Wireshark dissects them.

use super::child::{Child, Role};
use super::{has, has_dpdk, skip};
use bertha_netstack::{Flow, Interface, MacAddr, Stack};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Writes a capture with these frames, in the format of pcap.
fn write_capture(path: &Path, frames: &[Vec<u8>]) {
    let mut bytes = Vec::new();
    // The header says: microseconds; version 2.4; no time zone; frames up to the longest length; Ethernet.
    for word in [0xa1b2_c3d4_u32, 0x0004_0002, 0, 0, 65_535, 1] {
        bytes.extend(word.to_ne_bytes());
    }
    for frame in frames {
        for word in [0, 0, frame.len() as u32, frame.len() as u32] {
            bytes.extend(word.to_ne_bytes());
        }
        bytes.extend(frame);
    }
    std::fs::write(path, bytes).unwrap();
}

/// Returns tshark's lines about the frames that pass `filter`, with all checksums verified.
fn tshark(capture: &Path, filter: &str) -> Vec<String> {
    let output = Command::new("tshark")
        .args(["-n", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-r"])
        .arg(capture)
        .args(["-Y", filter])
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn packets_are_as_wireshark_has_them() {
    if !has("tshark") {
        return skip("captures: tshark is not installed");
    }
    if !has_dpdk() {
        return;
    }
    let folder = std::env::temp_dir().join(format!("bertha-golden-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let [heard, said] = ["heard.pcap", "said.pcap"].map(|name| folder.join(name));
    // Two neighbours ask for the port's address, so that the port knows their addresses.
    let subnets = ["10.0.0.2/24".parse().unwrap(), "fd00::2/64".parse().unwrap()];
    let now = Instant::now();
    let mut peer =
        Stack::new(Interface::new(MacAddr([2, 0, 0, 0, 0, 9]), 1500, None, &subnets, &[]).unwrap(), now);
    for to in ["10.0.0.1:7", "[fd00::1]:7"] {
        let _ = peer.route(Flow::new(to.parse().unwrap(), 9), now);
    }
    let requests: Vec<Vec<u8>> = std::iter::from_fn(|| peer.poll_transmit(<[u8]>::to_vec)).collect();
    assert_eq!(requests.len(), 2);
    write_capture(&heard, &requests);
    for (to, ip) in [("10.0.0.2:9", "ip"), ("[fd00::2]:9", "ipv6")] {
        let device = format!("net_pcap0,rx_pcap={},tx_pcap={}", heard.display(), said.display());
        let mut child = Child::start(&Role {
            role: "tell",
            about: to,
            count: 64,
            settings: &[("DEVICE", &device), ("ADDRESS", "10.0.0.1/24,fd00::1/64")],
            within: &[],
            unprivileged: false,
        });
        assert_eq!(child.says(), "done");
        let bad = "_ws.malformed || ip.checksum.status == 0 || udp.checksum.status != 1 && udp || icmpv6.checksum.status == 0";
        assert_eq!(tshark(&said, bad), [""; 0]);
        assert_eq!(tshark(&said, &format!("{ip} && udp.dstport == 9")).len(), 64);
        assert!(!tshark(&said, "arp.opcode == 2 && arp.dst.hw_mac == 02:00:00:00:00:09").is_empty());
        assert!(!tshark(&said, "icmpv6.type == 136").is_empty());
    }
    std::fs::remove_dir_all(&folder).unwrap();
}
