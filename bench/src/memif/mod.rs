//! DPDK ports that share memory: their settings, and their datagrams by hand.

pub(crate) mod frame;

use bertha_datapath_dpdk::Config;
use std::path::PathBuf;

/// Returns the settings of a port of a pair, on a side of shared memory. `number` tells pairs apart.
pub(crate) fn config(number: u32, side: u32, role: &str, address: &str) -> Config {
    let socket: PathBuf = std::env::temp_dir().join(format!("bertha-bench-{}-{number}", std::process::id()));
    let device = format!(
        "net_memif{},role={role},id=0,socket={},socket-abstract=no",
        2 * number + side,
        socket.display()
    );
    Config { buffers: 8191, ..Config::new(device, address) }
}
