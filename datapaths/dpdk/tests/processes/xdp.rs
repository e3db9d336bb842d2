//! A port of AF_XDP, with the kernel at the other end of the wire.

use super::namespaces::Namespaces;

const SETTINGS: [(&str, &str); 2] =
    [("DEVICE", "net_af_xdp0,iface=va"), ("ADDRESS", "10.99.0.1/24,fd99::1/64")];

/// The application holds so many messages that the port receives into buffers at the end of its pool, too.
#[test]
fn a_port_of_af_xdp_hears_with_all_of_its_buffers() {
    let Some(namespaces) = Namespaces::new("bkx") else { return };
    let mut server = namespaces.child("b", "kernel-serve", "0.0.0.0:7", 0, &[]);
    assert_eq!(server.says(), "ready");
    let mut client = namespaces.child("a", "ask-and-hold", "10.99.0.2:7", 12_000, &SETTINGS);
    assert_eq!(client.says(), "done");
}
