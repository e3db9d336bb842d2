//! Very many messages over shared memory: no message is lost without being counted, no buffer is kept,
//! nothing is allocated.
//!
//! The test has a binary of its own, since it replaces the allocator. `BERTHA_LONG` is the number of
//! messages: a million by default, and a hundred million in `scripts/dpdk long`, which is run before a
//! release.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "tests panic to fail, and say why they don't run"
)]

use bertha_allocations::{Counting, OfProcess};
use bertha_core::{Addr, Base, Buf, Connection, Datapath, Listener};
use bertha_datapath_dpdk::{AVAILABLE, Config, Dpdk};
use parking_lot::Mutex;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};

#[global_allocator]
static COUNTING: Counting = Counting;

/// Number of messages that are sent at once.
const BURST: u64 = 32;

/// Time for which each side once leaves the other side alone at first.
const PAUSE: Duration = Duration::from_millis(200);

/// Silence after which the missing messages count as lost: a sender that shares its processor may not run for
/// seconds.
const SILENCE: Duration = Duration::from_secs(30);

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}

/// Sends numbered messages as fast as possible, except for a pause after the first burst.
async fn send(client: &Dpdk, to: Addr, count: u64) {
    let connection = client.connect(to).await.unwrap();
    for first in (0..count).step_by(BURST as usize) {
        let burst = (first..first + BURST).map(|number| {
            let mut message = connection.base().buffer(64).unwrap();
            message[..8].copy_from_slice(&number.to_ne_bytes());
            message
        });
        connection.send_batch(burst).await.unwrap();
        if first == 0 {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// Receives, and returns the number of messages, and of allocations after the first hundredth.
///
/// Everything that grows does so before: the receiver has waited for messages, and paused once, so that its
/// queue reached its largest size.
async fn receive(server: &Dpdk, listener: impl Listener, count: u64) -> (u64, u64) {
    let connection = listener.accept().await.unwrap();
    let (mut received, mut next, mut allocations, mut has_paused) = (0, 0, None, false);
    let mut messages: Vec<Buf> = Vec::with_capacity(64);
    loop {
        let waiting = connection.recv_batch(&mut messages, 64);
        let Ok(got) = tokio::time::timeout(SILENCE, waiting).await else { break };
        got.unwrap();
        for message in messages.drain(..) {
            let number = u64::from_ne_bytes(*message.first_chunk().unwrap());
            assert!(number >= next, "message {number} after {next}: memory keeps the order");
            next = number + 1;
            received += 1;
        }
        if !has_paused && next > BURST {
            tokio::time::sleep(PAUSE).await;
            has_paused = true;
        }
        if allocations.is_none() && next >= count / 100 {
            allocations = Some(OfProcess::from_now());
        }
        if received + server.counters().unwrap().dropped() >= count {
            break;
        }
    }
    (received, allocations.unwrap().so_far())
}

/// Makes more threads wait for a lock at once than the test will have. `parking_lot` keeps a table of waiting
/// threads, which grows with them and never shrinks.
fn fill_the_table_of_waiting_threads() {
    let lock = Mutex::new(());
    std::thread::scope(|scope| {
        let held = lock.lock();
        for _ in 0..16 {
            scope.spawn(|| drop(lock.lock()));
        }
        std::thread::sleep(PAUSE);
        drop(held);
    });
}

#[test]
fn nothing_is_lost_uncounted_and_no_buffer_is_kept() {
    if !AVAILABLE {
        assert!(std::env::var("CI").as_deref() != Ok("true"), "DPDK must be installed in CI");
        return eprintln!("SKIPPED: many messages over shared memory: DPDK is not installed");
    }
    let wanted = std::env::var("BERTHA_LONG").map_or(1_000_000, |count| count.parse().unwrap());
    let count: u64 = u64::next_multiple_of(wanted, BURST);
    let socket = std::env::temp_dir().join(format!("bertha-long-{}", std::process::id()));
    let open = |number: u32, role: &str, address: &str| {
        let device =
            format!("net_memif{number},role={role},id=0,socket={},socket-abstract=no", socket.display());
        Dpdk::open(&Config { buffers: 8191, ..Config::new(device, address) }).unwrap()
    };
    let (server, client) = (open(0, "server", "10.0.0.1/24"), open(1, "client", "10.0.0.2/24"));
    let addr: Addr = "10.0.0.1:9".parse().unwrap();
    // The runtimes are made and ended outside of the counted part.
    let (receiver, sender) = (runtime(), runtime());
    let listener = receiver.block_on(server.listen(addr.clone())).unwrap();
    fill_the_table_of_waiting_threads();
    let started = Instant::now();
    let (received, allocations) = std::thread::scope(|scope| {
        let receiving = scope.spawn(|| receiver.block_on(receive(&server, listener, count)));
        scope.spawn(|| sender.block_on(send(&client, addr, count)));
        receiving.join().unwrap()
    });
    let seconds = started.elapsed().as_secs_f64();
    let dropped = server.counters().unwrap().dropped();
    let (arrived, sent) = (server.statistics().unwrap(), client.statistics().unwrap());
    println!(
        "{count} messages in {seconds:.1} s: {received} received, {dropped} dropped, {allocations} allocations"
    );
    println!("{arrived:?} {sent:?}");
    let missed = arrived.missed + arrived.no_mbuf + arrived.receive_errors + sent.send_errors;
    assert_eq!(received + dropped + missed, count, "lost without being counted");
    assert_eq!(allocations, 0, "allocations after the first hundredth");
    for side in [&server, &client] {
        assert_eq!(side.buffers_in_use().unwrap(), 0, "buffers were kept");
    }
}
