//! The drivers in a static program. `scripts/dpdk static` builds and runs the test.
#![cfg(feature = "static")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests panic to fail, and say why they don't run"
)]

use bertha_dpdk_sys::{AVAILABLE, bertha_dpdk_port_by_name};

/// Names under which drivers of virtual devices, and of cards, register themselves.
const NAMES: [&str; 14] = [
    "net_memif",
    "net_af_packet",
    "net_tap",
    "net_e1000_em",
    "net_e1000_igb",
    "net_igc",
    "net_ixgbe",
    "net_i40e",
    "net_ice",
    "net_iavf",
    "net_ena",
    "net_virtio",
    "net_vmxnet3",
    "net_bnxt",
];

#[test]
fn a_static_program_has_the_drivers_of_cards() {
    if !AVAILABLE {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
        return eprintln!("SKIPPED: drivers of a static program: DPDK is not installed");
    }
    // SAFETY: the name is a string, and the pointer is valid during the call; DPDK is not started, and has no port.
    let code = unsafe { bertha_dpdk_port_by_name(c"none".as_ptr(), &mut 0) };
    assert!(code < 0, "there is no port");
    let program = std::fs::read(std::env::current_exe().unwrap()).unwrap();
    let has = |name: &str| {
        let word = [b"\0", name.as_bytes(), b"\0"].concat();
        program.windows(word.len()).any(|window| window == word)
    };
    // The test itself has no name with a zero byte on each side.
    assert!(!has("net_of_nobody"));
    let missing: Vec<_> = NAMES.into_iter().filter(|name| !has(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}
