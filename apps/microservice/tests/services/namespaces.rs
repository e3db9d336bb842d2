//! The chain of services across two network namespaces, as in two containers: they share the folder with the
//! directory's socket and the certificate, or have a folder each, as on two machines.

use bertha_local::directory::Rules;
use bertha_local::directory::server::DirectoryServer;
use bertha_microservice::Transport;
use clap::ValueEnum;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use tempfile::TempDir;

/// The script's name for the namespaces, and the namespaces' network.
const NAME: &str = "bertha-ms";
const NET: &str = "10.79.0";

/// Two namespaces, which are taken down when the value is dropped.
struct Namespaces;

fn script(action: &str, arguments: &[&str]) -> Output {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/netns");
    Command::new(script).args([action, NAME]).args(arguments).output().unwrap()
}

impl Namespaces {
    /// Creates the namespaces. If this machine has none, prints a loud message and returns `None`.
    fn up() -> Option<Self> {
        let made = script("up", &[NET, "2"]);
        let log = String::from_utf8_lossy(&made.stderr);
        match made.status.code() {
            Some(3) => bertha_tests::skip(log.trim()),
            code => assert_eq!(code, Some(0), "{log}"),
        }
        made.status.success().then_some(Self)
    }

    /// Returns the program in namespace 1 or 2, at a site.
    fn program(&self, host: usize, site: &Path, transport: Transport) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &format!("{NAME}-{host}"), env!("CARGO_BIN_EXE_bertha-microservice")]);
        let transport = transport.to_possible_value().unwrap();
        command.arg("--folder").arg(site).args(["--transport", transport.get_name()]);
        command
    }
}

impl Drop for Namespaces {
    fn drop(&mut self) {
        script("down", &[]);
    }
}

/// A service in a process, which is killed when the value is dropped.
struct Service {
    process: Child,
    addr: String,
}

impl Service {
    /// Starts a service and waits until it listens.
    fn start(mut program: Command, name: &str, on: &str, more: &[&str]) -> Self {
        program.args(["serve", name, "--on", on]).args(more).stdout(Stdio::piped());
        let mut process = program.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said = line.trim().strip_prefix(&format!("{name} listens at "));
        Self { addr: said.unwrap_or_else(|| panic!("{name} says `{line}`")).to_owned(), process }
    }

    /// Returns the number of shared memories that the service has mapped: one for each connection.
    fn memories(&self) -> usize {
        let maps = std::fs::read_to_string(format!("/proc/{}/maps", self.process.id())).unwrap();
        maps.lines().filter(|line| line.contains("/memfd:bertha-shm")).count()
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // The process runs until it is killed here.
        let _ = (self.process.kill(), self.process.wait());
    }
}

/// The folders of the two namespaces.
struct Sites<'a> {
    near: &'a Path,
    far: &'a Path,
}

/// Runs front and its client in a namespace, cart and price in the other. Returns the number of memories that
/// front shares with them.
fn chain(namespaces: &Namespaces, sites: &Sites<'_>, transport: Transport) -> usize {
    let Sites { near, far } = *sites;
    let on = |host: usize, name: &str| match transport.has_paths() {
        true => format!("unix:{}", near.join(format!("{name}.sock")).display()),
        false => format!("{NET}.{}:0", 10 + host),
    };
    let behind = |name: &str| Service::start(namespaces.program(2, far, transport), name, &on(2, name), &[]);
    let (cart, price) = (behind("cart"), behind("price"));
    if near != far && far.join("certificate.pem").exists() {
        for file in ["certificate.pem", "key.pem"] {
            std::fs::copy(far.join(file), near.join(file)).unwrap();
        }
    }
    let others = ["--cart", &cart.addr, "--price", &price.addr];
    let front = Service::start(namespaces.program(1, near, transport), "front", &on(1, "front"), &others);
    let load = ["load", &front.addr, "--connections", "3", "--requests", "20"];
    let asked = namespaces.program(1, near, transport).args(load).output().unwrap();
    let (said, complaint) = (String::from_utf8_lossy(&asked.stdout), String::from_utf8_lossy(&asked.stderr));
    assert!(said.starts_with("60 answers"), "over {transport:?}: {said}{complaint}");
    cart.memories() + price.memories()
}

/// Creates a folder whose directory serves until the runtime ends.
fn site() -> TempDir {
    let folder = TempDir::new().unwrap();
    let directory = DirectoryServer::listen(folder.path().join("directory.sock"), Rules::new()).unwrap();
    tokio::spawn(async move { directory.serve().await });
    folder
}

/// Returns the numbers of shared memories in two cases: both namespaces have the directory's socket, or each
/// has a directory of its own, as two machines do.
fn shared(transport: Transport) -> [usize; 2] {
    match transport {
        Transport::Udp | Transport::Tcp | Transport::Tls | Transport::Unix => [0, 0],
        Transport::Shm | Transport::ShmSpinning => [2, 2],
        Transport::TlsMaybeLocal | Transport::TlsUnlessLocal => [2, 0],
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn each_transport_carries_the_chain_across_namespaces() {
    let Some(namespaces) = Namespaces::up() else { return };
    for transport in Transport::value_variants() {
        let (one, other) = (site(), site());
        let together = Sites { near: one.path(), far: one.path() };
        let apart = Sites { near: other.path(), far: one.path() };
        let memories = [together, apart].map(|sites| chain(&namespaces, &sites, *transport));
        assert_eq!(memories, shared(*transport), "{transport:?}");
    }
}
