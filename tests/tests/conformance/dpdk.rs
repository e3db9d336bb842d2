//! The conformance suites over DPDK: two ports of this process that share memory, and one port that talks to itself.

use bertha_chunnels::{Nothing, Ordered, Reliable};
use bertha_conformance::{self as conformance, Bufs, Site};
use bertha_core::{Addr, Datapath, ErrorKind, make_stack};
use bertha_datapath_dpdk::{Config, Dpdk, Polling, Tcp};
use bertha_tests::conformance::negotiated_ends;
use bertha_tests::skip;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// Opens the datapath. Without DPDK, reports that the test is skipped.
fn open(config: &Config) -> Option<Dpdk> {
    match Dpdk::open(config) {
        Ok(dpdk) => Some(dpdk),
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            skip(&format!("conformance over DPDK: {error}"));
            None
        }
        Err(error) => panic!("{error:?}"),
    }
}

/// Opens two neighbours, joined by shared memory.
fn memif(polling: Polling, queues: u16) -> Option<[Dpdk; 2]> {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = 2 * NEXT.fetch_add(1, Ordering::Relaxed);
    let socket = std::env::temp_dir().join(format!("bertha-conformance-{}-{number}", std::process::id()));
    let port = |number: u32, role: &str, address: [&str; 2]| {
        let device =
            format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display());
        let address = address.map(str::to_owned).to_vec();
        open(&Config { device: Some(device), address, polling, queues, buffers: 2047, ..Config::default() })
    };
    let server = port(number, "server", ["10.0.0.1/24", "fd00::1/64"])?;
    let client = port(number + 1, "client", ["10.0.0.2/24", "fd00::2/64"])?;
    Some([server, client])
}

/// Runs all checks of a datapath over datagrams that loses nothing.
async fn datagrams(server: &Dpdk, client: &Dpdk, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server, client, on: &|| on.clone() };
    conformance::datapath(&site).await;
    conformance::a_dropped_connection_forgets_its_address(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
}

/// Runs all checks of a datapath over streams.
async fn streams<S: Datapath, C: Datapath>(server: &S, client: &C, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server, client, on: &|| on.clone() };
    conformance::datapath(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
    let (client, server) = site.connected().await;
    conformance::the_peer_hears_of_a_close(&client, &server, &Bufs).await;
    let (client, server) = site.connected().await;
    conformance::the_peer_hears_of_a_close(&server, &client, &Bufs).await;
}

/// Runs the checks of ends over streams, without a transport and with `Reliable`.
macro_rules! ends_over_streams {
    ($server:expr, $client:expr, $on:expr) => {{
        let server = $server;
        let client = $client;
        let on = || $on.parse().unwrap();
        negotiated_ends(server, client, on, make_stack!(Nothing)).await;
        negotiated_ends(server, client, on, make_stack!(Ordered::new(), Reliable::new())).await;
    }};
}

async fn neighbours(polling: Polling, queues: u16, on: &[&str]) {
    let Some([server, client]) = memif(polling, queues) else { return };
    for on in on {
        datagrams(&server, &client, on).await;
        streams(&Tcp::over(&server), &Tcp::over(&client), on).await;
        ends_over_streams!(&Tcp::over(&server), &Tcp::over(&client), on);
    }
    for side in [&server, &client] {
        nothing_is_kept(side).await;
    }
    // The ports stay open until the process ends: DPDK 22.11 reports `Invalid memory` where both ends of a
    // memif close at once in one process.
    std::mem::forget((server, client));
}

/// Checks that no buffer is in use any more, once messages on their way have arrived and were dropped.
async fn nothing_is_kept(side: &Dpdk) {
    // A single count without buffers in use is enough: an ARP request or a late frame uses a buffer for a
    // moment.
    let deadline = Instant::now() + conformance::TIMEOUT;
    let kept = loop {
        let kept = side.buffers_in_use().unwrap();
        if kept == 0 || Instant::now() >= deadline {
            break kept;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    };
    assert_eq!(kept, 0, "buffers were kept");
}

#[tokio::test]
async fn neighbours_on_one_thread() {
    neighbours(Polling::Inline, 1, &["10.0.0.1:0", "[fd00::1]:0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_on_several_threads() {
    neighbours(Polling::Inline, 1, &["10.0.0.1:0"]).await;
}

#[tokio::test]
async fn neighbours_with_a_polling_thread() {
    neighbours(Polling::Thread, 1, &["10.0.0.1:0"]).await;
}

#[tokio::test]
async fn neighbours_with_several_queues_on_one_thread() {
    neighbours(Polling::Inline, 3, &["10.0.0.1:0", "[fd00::1]:0"]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn neighbours_with_several_queues_on_several_threads() {
    neighbours(Polling::Inline, 2, &["10.0.0.1:0"]).await;
}

#[tokio::test]
async fn neighbours_with_several_queues_and_polling_threads() {
    neighbours(Polling::Thread, 2, &["10.0.0.1:0"]).await;
}

#[tokio::test]
async fn an_interface_reaches_itself() {
    let Some(dpdk) = open(&Config::new("net_null0", "10.0.0.1/24")) else { return };
    datagrams(&dpdk, &dpdk, "10.0.0.1:0").await;
    let tcp = Tcp::over(&dpdk);
    streams(&tcp, &tcp, "10.0.0.1:0").await;
    ends_over_streams!(&tcp, &tcp, "10.0.0.1:0");
    nothing_is_kept(&dpdk).await;
}

/// The variable with the slots of two cards on one wire.
const CARDS: &str = "BERTHA_TEST_CARDS";

/// Is no ordinary test, since it takes two cards: `scripts/dpdk vm` runs it in an emulated machine.
#[tokio::test]
#[ignore = "run by scripts/dpdk vm, in a machine with two cards"]
async fn two_cards() {
    let Ok(slots) = std::env::var(CARDS) else { return };
    let (server, client) = slots.split_once(',').unwrap();
    let card = |slot: &str, address: [&str; 2]| {
        let address = address.map(str::to_owned).to_vec();
        let device = Some(slot.to_owned());
        Dpdk::open(&Config { device, address, buffers: 4095, ..Config::from_env().unwrap() }).unwrap()
    };
    // A card opens again in one process.
    for slot in [server, client] {
        drop(card(slot, ["10.97.0.1/24", "fd97::1/64"]));
    }
    let server = card(server, ["10.97.0.1/24", "fd97::1/64"]);
    let client = card(client, ["10.97.0.2/24", "fd97::2/64"]);
    for on in ["10.97.0.1:0", "[fd97::1]:0"] {
        datagrams(&server, &client, on).await;
        streams(&Tcp::over(&server), &Tcp::over(&client), on).await;
    }
}

/// Two interfaces on one wire, both in one namespace: `va` for DPDK, `vb` for the kernel. Dropping the value
/// removes them.
struct Wire(String);

impl Wire {
    fn new() -> Self {
        let wire = Self(format!("bct{}", std::process::id()));
        let namespace = |side: &str| format!("{}-{side}", wire.0);
        run(SCRIPT, &["up", &wire.0]);
        run("ip", &["-n", &namespace("a"), "link", "set", "va", "netns", &namespace("b")]);
        let within = namespace("b");
        run("ip", &["netns", "exec", &within, "sysctl", "-qw", "net.ipv6.conf.va.disable_ipv6=1"]);
        run("ip", &["-n", &within, "link", "set", "va", "up"]);
        wire
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        run(SCRIPT, &["down", &self.0]);
    }
}

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/dpdk");

/// Runs a program, and returns its output.
fn run(program: &str, arguments: &[&str]) -> String {
    let output = Command::new(program).args(arguments).env(BESIDE, "1").output().unwrap();
    let said = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
    assert!(output.status.success(), "{program} {arguments:?}: {said}");
    said
}

/// The variable that is set in a process which a test has started.
const BESIDE: &str = "BERTHA_TEST_BESIDE_THE_KERNEL";

#[test]
fn streams_to_and_from_the_kernel() {
    let root = Command::new("id").arg("-u").output().is_ok_and(|output| output.stdout == b"0\n");
    if !bertha_datapath_dpdk::AVAILABLE || !root || Command::new("ip").arg("-V").output().is_err() {
        return skip("conformance of TCP with the kernel's: it needs DPDK, root, and `ip`");
    }
    let wire = Wire::new();
    let (within, program) = (format!("{}-b", wire.0), std::env::current_exe().unwrap());
    let program = program.to_str().unwrap();
    run(
        "ip",
        &[
            "netns",
            "exec",
            &within,
            program,
            "--exact",
            "dpdk::beside_the_kernel",
            "--ignored",
            "--nocapture",
        ],
    );
}

/// Is no test by itself: the test above runs it as a process in a namespace.
#[tokio::test]
#[ignore = "run by another test, as a process of its own"]
async fn beside_the_kernel() {
    if std::env::var_os(BESIDE).is_none() {
        return;
    }
    let address = ["10.99.0.1/24", "fd99::1/64"].map(str::to_owned).to_vec();
    let device = Some("net_af_packet0,iface=va".to_owned());
    let dpdk = open(&Config { device, address, buffers: 4095, ..Config::default() }).unwrap();
    let (tcp, kernel) = (Tcp::over(&dpdk), bertha_datapath_kernel::Tcp::new());
    for (on_dpdk, on_kernel) in [("10.99.0.1:0", "10.99.0.2:0"), ("[fd99::1]:0", "[fd99::2]:0")] {
        streams(&tcp, &kernel, on_dpdk).await;
        streams(&kernel, &tcp, on_kernel).await;
        ends_over_streams!(&tcp, &kernel, on_dpdk);
        ends_over_streams!(&kernel, &tcp, on_kernel);
    }
    nothing_is_kept(&dpdk).await;
}
