//! The programs over DPDK.

use crate::one_line::programs::{End, build, echo, free_address, transfer, workload_b};
use bertha_tests::skip;

/// The one line: the feature in `bertha = { workspace = true, features = [..] }`.
const DPDK: &str = "bertha/datapath-dpdk";

#[test]
#[ignore = "builds the programs twice, which takes minutes"]
fn one_line_switches_programs_to_dpdk() {
    let kernel = build("kernel", &[], &[]);
    let end = End { programs: &kernel, settings: &[] };
    workload_b(&free_address(), end, end);
    transfer(&free_address(), end, end);
    echo(&free_address(), end, end);
    let dpdk = build("dpdk", &[DPDK], &[]);
    if !bertha_datapath_dpdk::AVAILABLE {
        return skip("programs over DPDK: DPDK is not installed; see scripts/dpdk install");
    }
    // Killed programs leave their sockets behind.
    let settings = |name: &str, role: &str, address: &str| {
        let socket = std::env::temp_dir().join(format!("bertha-one-line-{name}-{}", std::process::id()));
        let device = format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
        [("BERTHA_DPDK_DEVICE".into(), device), ("BERTHA_DPDK_ADDRESS".into(), address.into())]
    };
    let over = |name: &str, run: fn(&str, End<'_>, End<'_>), port: u16| {
        let (server, client) =
            (settings(name, "server", "10.0.0.1/24"), settings(name, "client", "10.0.0.2/24"));
        let end = |settings| End { programs: &dpdk, settings };
        run(&format!("10.0.0.1:{port}"), end(&server), end(&client));
    };
    over("store", workload_b, 4242);
    over("transfer", transfer, 4343);
    over("echo", echo, 4444);
}
