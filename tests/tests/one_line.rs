//! The key-value store and its YCSB client, built twice from the same sources: over kernel UDP, and with one feature of
//! `bertha` more, over DPDK.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_tests::skip;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// The one line: what stands behind `bertha = { workspace = true, features = [..] }`.
const DPDK: &str = "bertha/datapath-dpdk";

/// Builds both programs, and returns the folder that they are in.
fn build(name: &str, features: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args([
        "build",
        "--quiet",
        "--locked",
        "-p",
        "bertha-kvstore",
        "-p",
        "bertha-ycsb",
    ]);
    cargo.arg("--target-dir").arg(&target);
    for feature in features {
        cargo.args(["--features", feature]);
    }
    assert!(cargo.status().unwrap().success());
    target.join("debug")
}

/// Ends when it is dropped.
struct Store(Child);

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs workload B with `client`'s settings against a store with `server`'s.
fn workload_b(programs: &Path, addr: &str, server: &[(&str, String)], client: &[(&str, String)]) {
    let environment = |pairs: &[(&str, String)]| -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| (format!("BERTHA_DPDK_{name}"), value.clone())).collect()
    };
    let mut store = Command::new(programs.join("kvstore"))
        .args(["--addr", addr])
        .envs(environment(server))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let output = store.stdout.take().unwrap();
    let _store = Store(store);
    let mut line = String::new();
    BufReader::new(output).read_line(&mut line).unwrap();
    assert!(line.contains(&format!("ready at {addr}")), "{line}");
    let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/ycsb/workloads/workloadb");
    let ycsb = Command::new(programs.join("ycsb"))
        .args([
            "run",
            "--connections",
            "2",
            "--in-flight",
            "4",
            "--server",
            addr,
            "-p",
            "operationcount=20000",
            "-P",
        ])
        .arg(workload)
        .envs(environment(client))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ycsb.stdout);
    assert!(ycsb.status.success(), "{said}{}", String::from_utf8_lossy(&ycsb.stderr));
    println!("{said}");
}

#[test]
fn one_line_switches_the_store_to_dpdk() {
    let kernel = build("kernel", &[]);
    workload_b(&kernel, "127.0.0.1:34242", &[], &[]);
    let dpdk = build("dpdk", &[DPDK]);
    if !bertha_datapath_dpdk::AVAILABLE {
        return skip("the store over DPDK: DPDK is not installed; see scripts/dpdk install");
    }
    let socket = std::env::temp_dir().join(format!("bertha-one-line-{}", std::process::id()));
    let settings = |role: &str, address: &str| {
        let device = format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
        [("DEVICE", device), ("ADDRESS", address.into())]
    };
    workload_b(
        &dpdk,
        "10.0.0.1:4242",
        &settings("server", "10.0.0.1/24"),
        &settings("client", "10.0.0.2/24"),
    );
}
