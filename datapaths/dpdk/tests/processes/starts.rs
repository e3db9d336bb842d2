//! Starts of DPDK's environment.

use super::child::{Child, Role};
use super::has_dpdk;

/// The first process has locked the configuration that both would share, and DPDK leaves no number of an error.
#[test]
fn a_start_beside_a_process_of_the_same_prefix_is_an_error() {
    if !has_dpdk() {
        return;
    }
    let prefix = format!("bertha-{}", std::process::id());
    let eal = format!("--no-pci --no-huge -m 64 --no-telemetry --file-prefix {prefix}");
    let start = |role: &str| {
        Child::start(&Role {
            role,
            about: "10.0.0.1:9",
            count: 0,
            settings: &[
                ("DEVICE", "net_null0"),
                ("ADDRESS", "10.0.0.1/24"),
                ("BUFFERS", "8191"),
                ("EAL", &eal),
            ],
            within: &[],
            unprivileged: false,
        })
    };
    let mut first = start("serve");
    assert_eq!(first.says(), "ready");
    let said = start("open").says();
    assert!(said.contains("initialising DPDK failed") && said.contains("--file-prefix"), "{said}");
    drop(first);
    // DPDK leaves its files.
    let _ = std::fs::remove_dir_all(format!("/var/run/dpdk/{prefix}"));
}

/// The environment fails as it starts, since a card behind `uio_pci_generic` is there without hugepages, for instance.
#[test]
fn a_start_that_fails_for_a_card_names_the_card() {
    if !has_dpdk() {
        return;
    }
    let settings = [("DEVICE", "ffff:ff:1f.7"), ("ADDRESS", "10.0.0.1/24"), ("EAL", "--no-such-argument")];
    let role = Role {
        role: "open",
        about: "10.0.0.1:9",
        count: 0,
        settings: &settings,
        within: &[],
        unprivileged: false,
    };
    let said = Child::start(&role).says();
    assert!(said.contains("the slot ffff:ff:1f.7") && said.contains("there is none"), "{said}");
}

/// The device was there before the port was opened, and no setting names it.
#[test]
fn a_port_of_the_environment_opens_again() {
    if !has_dpdk() {
        return;
    }
    let eal = "--no-pci --no-huge --no-shconf --no-telemetry -m 128 --vdev=net_null7,size=60";
    for port in [None, Some(("PORT", "net_null7"))] {
        let settings = [("EAL", eal), ("ADDRESS", "10.0.0.1/24"), ("BUFFERS", "1023")];
        let settings: Vec<_> = settings.into_iter().chain(port).collect();
        let role = Role {
            role: "open-again",
            about: "-",
            count: 0,
            settings: &settings,
            within: &[],
            unprivileged: true,
        };
        assert_eq!(Child::start(&role).says(), "opened");
    }
}
