//! The conformance suites over DPDK: two ports of this process that share memory, and one port that talks to itself.
#![allow(clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_core::{Addr, ErrorKind};
use bertha_datapath_dpdk::{Config, Dpdk, Polling};
use bertha_tests::conformance::{self, Site};
use bertha_tests::skip;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// The datapath, unless there is no DPDK, which is said loudly.
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

/// Two neighbours, joined by shared memory.
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

/// All checks of a datapath over datagrams that loses nothing.
async fn datagrams(server: &Dpdk, client: &Dpdk, on: &str) {
    let on: Addr = on.parse().unwrap();
    let site = Site { server, client, on: &|| on.clone() };
    conformance::datapath(&site).await;
    conformance::a_dropped_connection_forgets_its_address(&site).await;
    conformance::nobody_there_is_unreachable(&site).await;
}

async fn neighbours(polling: Polling, queues: u16, on: &[&str]) {
    let Some([server, client]) = memif(polling, queues) else { return };
    for on in on {
        datagrams(&server, &client, on).await;
    }
    for side in [&server, &client] {
        nothing_is_kept(side).await;
    }
    // Open until the process ends: DPDK 22.11 says `Invalid memory` where both ends of a memif close at once in one process.
    std::mem::forget((server, client));
}

/// What was on its way still comes, and is dropped; then no buffer is in use any more.
async fn nothing_is_kept(side: &Dpdk) {
    let deadline = Instant::now() + conformance::PATIENCE;
    while side.buffers_in_use().unwrap() > 0 && Instant::now() < deadline {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(side.buffers_in_use().unwrap(), 0, "buffers were kept");
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
    nothing_is_kept(&dpdk).await;
}
