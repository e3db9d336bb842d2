//! The kernel's stack at the other end of a wire.

use super::child::Child;
use super::namespaces::Namespaces;

const SETTINGS: [(&str, &str); 2] =
    [("DEVICE", "net_af_packet0,iface=va"), ("ADDRESS", "10.99.0.1/24,fd99::1/64")];

impl Namespaces {
    pub(crate) fn start(&self, side: &str, role: &str, about: &str, count: usize) -> Child {
        self.child(side, role, about, count, if side == "a" { &SETTINGS } else { &[] })
    }

    /// Returns the kernel's output for a datagram that was sent to a port and an answer that was waited for.
    fn says_to(&self, host: &str, port: u16) -> String {
        let talk = format!("exec 3<>/dev/udp/{host}/{port}; echo x >&3; timeout 5 cat <&3 2>&1 || true");
        self.run("b", &["bash", "-c", &talk])
    }
}

#[test]
fn the_kernel_asks_and_pings() {
    let Some(namespaces) = Namespaces::new("bka") else { return };
    let mut server = namespaces.start("a", "serve", "[::]:9", 0);
    assert_eq!(server.says(), "ready");
    for to in ["10.99.0.1:9", "[fd99::1]:9"] {
        let mut client = namespaces.start("b", "kernel-ask", to, 400);
        assert_eq!(client.says(), "done");
    }
    for to in ["10.99.0.1", "fd99::1"] {
        for size in ["0", "56", "1400"] {
            let said = namespaces.run("b", &["ping", "-c", "3", "-i", "0.1", "-W", "5", "-s", size, to]);
            assert!(said.contains(" 0% packet loss"), "{said}");
        }
    }
    let neighbours = namespaces.run("b", &["ip", "neigh", "show", "dev", "vb"]);
    for address in ["10.99.0.1 lladdr", "fd99::1 lladdr"] {
        assert!(neighbours.contains(address), "{neighbours}");
    }
    // No process listens at this port, and the kernel learns it.
    assert!(namespaces.says_to("10.99.0.1", 77).contains("refused"));
}

#[test]
fn a_listener_of_one_family_refuses_the_other() {
    let Some(namespaces) = Namespaces::new("bkf") else { return };
    let mut server = namespaces.start("a", "serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let mut client = namespaces.start("b", "kernel-ask", "10.99.0.1:9", 16);
    assert_eq!(client.says(), "done");
    assert!(namespaces.says_to("fd99::1", 9).contains("refused"));
}

#[test]
fn bertha_asks_the_kernel() {
    let Some(namespaces) = Namespaces::new("bkb") else { return };
    for (at, to) in [("0.0.0.0:7", "10.99.0.2:7"), ("[::]:8", "[fd99::2]:8")] {
        let mut server = namespaces.start("b", "kernel-serve", at, 0);
        assert_eq!(server.says(), "ready");
        let mut client = namespaces.start("a", "ask", to, 1_600);
        assert_eq!(client.says(), "done");
    }
}

/// The kernel's sockets are connected, and take answers from the address alone that they ask.
#[test]
fn each_of_several_addresses_answers_for_itself() {
    let Some(namespaces) = Namespaces::new("bks") else { return };
    let several = "10.99.0.1/24,10.99.0.3/24,fd99::1/64,fd99::3/64,fe80::1/64";
    for queues in ["1", "2"] {
        let settings = [SETTINGS[0], ("ADDRESS", several), ("QUEUES", queues)];
        let start = |at| {
            let mut server = namespaces.child("a", "serve", at, 0, &settings);
            assert_eq!(server.says(), "ready");
            server
        };
        let asks = |to| assert_eq!(namespaces.start("b", "kernel-ask", to, 160).says(), "done");
        let server = start("[::]:9");
        for to in ["10.99.0.3:9", "10.99.0.1:9", "[fd99::3]:9", "[fd99::1]:9"] {
            asks(to);
        }
        for to in ["10.99.0.3", "fd99::3", "fe80::1%vb"] {
            let said = namespaces.run("b", &["ping", "-c", "2", "-i", "0.1", "-W", "5", to]);
            assert!(said.contains(" 0% packet loss"), "{said}");
        }
        drop(server);
        let _server = start("10.99.0.3:9");
        assert!(namespaces.says_to("10.99.0.1", 9).contains("refused"));
        asks("10.99.0.3:9");
    }
}

/// Answers to invented addresses hold up no client, although no host reports within three seconds that there
/// is none.
#[test]
fn forged_peers_delay_no_client() {
    let Some(namespaces) = Namespaces::new("bkg") else { return };
    let mut server = namespaces.start("a", "serve-serially", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let forger = [("DEVICE", "net_af_packet0,iface=vb"), ("ADDRESS", "10.99.0.99/24")];
    assert_eq!(namespaces.child("b", "forge", "10.99.0.1:9", 100, &forger).says(), "done");
    let mut client = namespaces.start("b", "kernel-ask", "10.99.0.1:9", 16);
    assert_eq!(client.says(), "done");
}

/// Without the claim, each process would answer for the other's connections.
#[test]
fn an_interface_and_an_address_belong_to_one_process() {
    let Some(namespaces) = Namespaces::new("bkc") else { return };
    let mut server = namespaces.start("a", "serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let said = namespaces.start("a", "open", "-", 0).says();
    assert!(said.contains("another DPDK port is open at the interface `va`"), "{said}");
    server.kill();
    let mut server = namespaces.start("a", "serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let nosuch = [("DEVICE", "net_af_packet0,iface=nosuch"), ("ADDRESS", "10.99.0.1/24")];
    let said = namespaces.child("a", "open", "-", 0, &nosuch).says();
    assert!(said.contains("there is no network interface `nosuch`") && !said.contains("root"), "{said}");
}

/// The interface carries more than IPv6 has been told to use of it.
#[test]
fn an_interface_that_carries_enough_keeps_its_mtu() {
    let Some(namespaces) = Namespaces::new("bkm") else { return };
    for command in ["ip link set va mtu 9000", "sysctl -qw net.ipv6.conf.va.mtu=1280"] {
        namespaces.run("a", &command.split(' ').collect::<Vec<_>>());
    }
    let mut server = namespaces.start("a", "serve", "0.0.0.0:9", 0);
    assert_eq!(server.says(), "ready");
    let said = namespaces.run("a", &["ip", "link", "show", "va"]);
    assert!(said.contains("mtu 9000"), "{said}");
}

/// The kernel as a router, with a narrow link behind it.
#[test]
fn a_router_says_what_the_path_carries() {
    let Some(namespaces) = Namespaces::new("bkr") else { return };
    for command in [
        "ip link add narrow mtu 1300 type veth peer name far",
        "ip link set narrow up",
        "ip link set far up",
        "ip addr add fe80::1/64 dev vb nodad",
        "ip route add 192.0.2.0/24 dev narrow",
        "ip -6 route add 2001:db8::/64 dev narrow",
        "sysctl -qw net.ipv4.ip_forward=1 net.ipv6.conf.all.forwarding=1",
    ] {
        namespaces.run("b", &command.split(' ').collect::<Vec<_>>());
    }
    for (queues, routers) in
        [("1", "10.99.0.2,fd99::2"), ("2", "10.99.0.2,fd99::2"), ("1", "10.99.0.2,fe80::1")]
    {
        let gateways = [("GATEWAY", routers), ("QUEUES", queues)];
        let settings = [&SETTINGS[..], &gateways].concat();
        for to in ["192.0.2.9:9", "[2001:db8::9]:9"] {
            let mut client = namespaces.child("a", "too-large", to, 1300, &settings);
            assert_eq!(client.says(), "done");
        }
    }
}
