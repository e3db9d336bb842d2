//! The programs and their use.

use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Mutex;

/// The programs and the example.
const PACKAGES: [&str; 4] = ["bertha", "bertha-kvstore", "bertha-ycsb", "bertha-file-transfer"];

/// Held while programs are built, since a build replaces the programs of an earlier build.
static BUILDING: Mutex<()> = Mutex::new(());

/// Builds the programs with these features and variables, and returns their folder, which has the name
/// `name`.
pub(crate) fn build(name: &str, features: &[&str], variables: &Variables) -> PathBuf {
    let _building = BUILDING.lock();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    // The build uses its earlier directory, which has the built dependencies.
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("one-line").join(name);
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root).args(["build", "--quiet", "--locked", "--bins", "--example", "echo"]);
    cargo.arg("--target-dir").arg(target).envs(variables.iter().cloned());
    for package in PACKAGES {
        cargo.args(["--package", package]);
    }
    for feature in features {
        cargo.args(["--features", feature]);
    }
    assert!(cargo.status().unwrap().success());
    let built = target.join("debug");
    std::fs::create_dir_all(&kept).unwrap();
    for program in ["kvstore", "ycsb", "file-transfer", "examples/echo"] {
        let link = kept.join(Path::new(program).file_name().unwrap());
        let _ = std::fs::remove_file(&link);
        std::fs::hard_link(built.join(program), link).unwrap();
    }
    kept
}

/// A server, which is killed when the value is dropped. The value keeps the server's output open, since a
/// server can't write to a closed output.
struct Server(Child, BufReader<ChildStdout>);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns an address with a free port whose next port is free too, for a shard. The ports are not from the
/// system's ephemeral range, where clients of other programs could take them before the program does.
pub(crate) fn free_address() -> String {
    let is_free = |port: u16| UdpSocket::bind((Ipv4Addr::LOCALHOST, port)).is_ok();
    let first = 20_000 + (std::process::id() % 5_000) as u16 * 2;
    let port = (first..32_000).step_by(2).find(|port| is_free(*port) && is_free(port + 1));
    format!("127.0.0.1:{}", port.expect("a free port"))
}

/// Variables of the environment.
pub(crate) type Variables = [(String, String)];

/// An end: the folder of its programs, and their settings.
#[derive(Clone, Copy)]
pub(crate) struct End<'a> {
    pub(crate) programs: &'a Path,
    pub(crate) settings: &'a Variables,
}

impl End<'_> {
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.programs.join(program));
        command.envs(self.settings.iter().cloned());
        command
    }
}

/// Starts a program, and waits for the line in which it reports that it is ready at `addr`.
fn start(mut program: Command, addr: &str) -> Server {
    let mut process = program.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(process.stdout.take().unwrap());
    let mut server = Server(process, output);
    let mut line = String::new();
    server.1.read_line(&mut line).unwrap();
    assert!(line.contains(&format!("ready at {addr}")), "{line}");
    server
}

/// Runs a client to its end, and returns its output.
fn finish(mut program: Command) -> String {
    let output = program.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
    said
}

/// Runs workload B against a store. Then asks the store to end, and checks that it ends in order.
pub(crate) fn workload_b(addr: &str, server: End<'_>, client: End<'_>) {
    let mut store = server.command("kvstore");
    store.args(["--addr", addr]);
    let mut store = start(store, addr);
    let workload = Path::new(env!("CARGO_MANIFEST_DIR")).join("../apps/ycsb/workloads/workloadb");
    let mut ycsb = client.command("ycsb");
    ycsb.args(["run", "--connections", "2", "--in-flight", "4", "--server", addr]);
    ycsb.args(["-p", "operationcount=20000", "-P"]).arg(workload);
    finish(ycsb);
    let asked = Command::new("kill").arg(store.0.id().to_string()).status().unwrap();
    assert!(asked.success() && store.0.wait().unwrap().success(), "the store did not end in order");
}

/// Has words echoed.
pub(crate) fn echo(addr: &str, server: End<'_>, client: End<'_>) {
    let mut serve = server.command("echo");
    serve.args(["serve", addr]);
    let _server = start(serve, addr);
    let mut ask = client.command("echo");
    ask.args(["ask", addr]);
    assert!(finish(ask).contains("three -> three"));
}

/// Sends a file.
pub(crate) fn transfer(addr: &str, server: End<'_>, client: End<'_>) {
    let directory = server.programs.join(format!("transfer-{}", std::process::id()));
    let (from, kept) = (directory.join("file"), directory.join("kept"));
    let bytes: Vec<u8> = (0..8_u32 << 20).map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8).collect();
    std::fs::create_dir_all(&kept).unwrap();
    std::fs::write(&from, &bytes).unwrap();
    let mut receiver = server.command("file-transfer");
    receiver.arg("receive").arg(&kept).args(["--addr", addr]);
    let _receiver = start(receiver, addr);
    let mut sender = client.command("file-transfer");
    sender.arg("send").arg(&from).args(["--to", addr]);
    finish(sender);
    assert!(std::fs::read(kept.join("file")).unwrap() == bytes);
    std::fs::remove_dir_all(directory).unwrap();
}
