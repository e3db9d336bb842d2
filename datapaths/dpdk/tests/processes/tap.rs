//! A port that computes checksums (`net_tap`), with the kernel's stack behind it, which verifies them.

use super::namespaces::Namespaces;
use super::skip;

const SETTINGS: [(&str, &str); 2] = [("DEVICE", "net_tap0,iface=vt"), ("ADDRESS", "10.98.0.1/24,fd98::1/64")];

#[test]
fn the_kernel_takes_the_checksums_that_a_port_computes() {
    if !std::path::Path::new("/dev/net/tun").exists() {
        return skip("checksums that a port computes: there is no /dev/net/tun");
    }
    let Some(namespaces) = Namespaces::new("btp") else { return };
    for (offload, said) in [("true", "offload true true"), ("false", "offload false false")] {
        let settings = [&SETTINGS[..], &[("OFFLOAD", offload)]].concat();
        let mut server = namespaces.child("a", "offload-serve", "[::]:9", 0, &settings);
        assert_eq!((server.says(), server.says()), (said.into(), "ready".into()));
        namespaces.run("a", &["ip", "addr", "add", "10.98.0.2/24", "dev", "vt"]);
        namespaces.run("a", &["ip", "addr", "add", "fd98::2/64", "dev", "vt", "nodad"]);
        namespaces.run("a", &["ip", "link", "set", "vt", "up"]);
        for to in ["10.98.0.1:9", "[fd98::1]:9"] {
            let mut client = namespaces.child("a", "kernel-ask", to, 400, &[]);
            assert_eq!(client.says(), "done");
        }
    }
}
