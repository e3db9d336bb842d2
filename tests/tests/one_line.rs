//! The key-value store with its YCSB client, file-transfer, and the example `echo`, built twice from the same sources: over kernel
//! UDP, and with one feature of `bertha` more, over DPDK.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests panic to fail, and show what was measured"
)]

use bertha_tests::skip;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

/// The one line: the feature in `bertha = { workspace = true, features = [..] }`.
const DPDK: &str = "bertha/datapath-dpdk";

/// The programs and the example.
const PACKAGES: [&str; 4] = ["bertha", "bertha-kvstore", "bertha-ycsb", "bertha-file-transfer"];

/// Builds the programs, and returns the folder that they are in. The next build puts its own in their place, and has all
/// that does not depend on the features already.
fn build(features: &[&str]) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-line");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--bins", "--example", "echo"]);
    cargo.arg("--target-dir").arg(&target);
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    for feature in features {
        cargo.args(["--features", feature]);
    }
    assert!(cargo.status().unwrap().success());
    target.join("debug")
}

/// A server, killed when it is dropped, with its output, which it could not write if nobody held it.
struct Server(Child, BufReader<ChildStdout>);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// An address with a free port that has a free one behind it, for a shard. Not from the system's ephemeral range, where
/// clients of other programs could take them before the program does.
fn free_address() -> String {
    let is_free = |port: u16| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let first = 20_000 + (std::process::id() % 5_000) as u16 * 2;
    let port = (first..32_000).step_by(2).find(|port| is_free(*port) && is_free(port + 1));
    format!("127.0.0.1:{}", port.expect("a free port"))
}

type Settings = [(&'static str, String)];

fn environment(pairs: &Settings) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| (format!("BERTHA_DPDK_{name}"), value.clone())).collect()
}

/// Starts a program, and waits for the line in which it says that it is ready at `addr`.
fn start(mut program: Command, addr: &str) -> Server {
    let mut process = program.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut server = Server(process, output);
    let mut line = String::new();
    server.1.read_line(&mut line).unwrap();
    assert!(line.contains(&format!("ready at {addr}")), "{line}");
    server
}

/// Runs a client to its end, and returns what it said.
fn finish(mut program: Command) -> String {
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    said
}

/// Runs workload B with `client`'s settings against a store with `server`'s.
fn workload_b(programs: &Path, addr: &str, server: &Settings, client: &Settings) {
    let mut store = Command::new(programs.join("kvstore"));
    store.args(["--addr", addr]).envs(environment(server));
    let _store = start(store, addr);
    let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/ycsb/workloads/workloadb");
    let mut ycsb = Command::new(programs.join("ycsb"));
    ycsb.args(["run", "--connections", "2", "--in-flight", "4", "--server", addr]);
    ycsb.args(["-p", "operationcount=20000", "-P"]).arg(workload).envs(environment(client));
    finish(ycsb);
}

/// Has words echoed by a server with `server`'s settings.
fn echo(programs: &Path, addr: &str, server: &Settings, client: &Settings) {
    let program = || Command::new(programs.join("examples/echo"));
    let mut serve = program();
    serve.args(["serve", addr]).envs(environment(server));
    let _server = start(serve, addr);
    let mut ask = program();
    ask.args(["ask", addr]).envs(environment(client));
    assert!(finish(ask).contains("three -> three"));
}

/// Sends a file with `client`'s settings to a receiver with `server`'s.
fn transfer(programs: &Path, addr: &str, server: &Settings, client: &Settings) {
    let directory = programs.join(format!("transfer-{}", std::process::id()));
    let (from, kept) = (directory.join("file"), directory.join("kept"));
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::write(&from, &bytes).unwrap();
    let program = || Command::new(programs.join("file-transfer"));
    let mut receiver = program();
    receiver.arg("receive").arg(&kept).args(["--addr", addr]).envs(environment(server));
    let _receiver = start(receiver, addr);
    let mut sender = program();
    sender.arg("send").arg(&from).args(["--to", addr]).envs(environment(client));
    finish(sender);
    assert!(std::fs::read(kept.join("file")).unwrap() == bytes);
    std::fs::remove_dir_all(directory).unwrap();
}

#[test]
#[ignore = "builds the programs twice, which takes minutes"]
fn one_line_switches_programs_to_dpdk() {
    let kernel = build(&[]);
    workload_b(&kernel, &free_address(), &[], &[]);
    transfer(&kernel, &free_address(), &[], &[]);
    echo(&kernel, &free_address(), &[], &[]);
    let dpdk = build(&[DPDK]);
    if !bertha_datapath_dpdk::AVAILABLE {
        return skip("programs over DPDK: DPDK is not installed; see scripts/dpdk install");
    }
    // Killed programs leave their sockets behind.
    let settings = |name: &str, role: &str, address: &str| {
        let socket = std::env::temp_dir().join(format!("bertha-one-line-{name}-{}", std::process::id()));
        let device = format!("net_memif0,role={role},socket={},socket-abstract=no", socket.display());
        [("DEVICE", device), ("ADDRESS", address.into())]
    };
    let ends = |name| [settings(name, "server", "10.0.0.1/24"), settings(name, "client", "10.0.0.2/24")];
    let [server, client] = ends("store");
    workload_b(&dpdk, "10.0.0.1:4242", &server, &client);
    let [server, client] = ends("transfer");
    transfer(&dpdk, "10.0.0.1:4343", &server, &client);
    let [server, client] = ends("echo");
    echo(&dpdk, "10.0.0.1:4444", &server, &client);
}
