//! Two boxes around a path whose queue neither end can order (thesis 4.7.6): the queue moves to the senders'
//! side, and short flows no longer wait behind a long flow.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print figures")]

use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime};
use bertha_datapath_sim::{
    Bundle, Emulator, Limits, Link, Network, Path, Rate, Schedule, Scheduling, Sim, SimConnection,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const SENDERS: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 1, 0, 0];

const PACKET: usize = 1_000;

/// Rate in bytes per second, and delay each way: the path holds 50 packets.
const RATE: u64 = 1_000_000;
const DELAY: Duration = Duration::from_millis(25);

/// Number of packets that a long flow has on their way: a path and two of its queues.
const LONG: usize = 150;

/// Number of packets of a short flow, number of such flows, and time between two of them.
const SHORT: usize = 20;
const FLOWS: u32 = 10;
const PERIOD: Duration = Duration::from_millis(500);

#[derive(Debug, Clone, Copy)]
struct Scene {
    has_long: bool,
    /// The order of packets in the sendbox, if there is one.
    bundle: Option<Scheduling>,
}

/// The means of what was measured.
#[derive(Debug, Default)]
struct Seen {
    /// Delays in the queues of the path and of the sendbox, in milliseconds.
    path: f64,
    sendbox: f64,
    /// Time of a short flow, in milliseconds.
    short: f64,
    /// Share of the link that the long flow used.
    long: f64,
}

fn run(scene: Scene) -> Seen {
    // Nothing in this test is left to chance.
    let seed = 1;
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    network.set_limits(Limits { backlog: 64, queue: 65_536 });
    network.set_link_between(SENDERS, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, SENDERS, Link { delay: DELAY, ..Link::default() });
    let path = Path::new(Rate::fixed(RATE), DELAY).buffered(4.0);
    if let Some(scheduling) = scene.bundle {
        let bundle = Bundle { scheduling, buffer: path.buffer, target: Duration::from_millis(5) };
        network.bundle([(SENDERS, SERVER)], bundle);
    }
    network.emulate([(SENDERS, SERVER)], Emulator::new(path, seed));
    sim.run(observe(network, scene.has_long))
}

async fn observe(network: Network, has_long: bool) -> Seen {
    let runtime = network.runtime().clone();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let server = listener.local_addr();
    let spawner = runtime.clone();
    let _serving = runtime.spawn(async move {
        let mut answering = Vec::new();
        loop {
            let connection = listener.accept().await.unwrap();
            answering.push(spawner.spawn(answer(connection)));
        }
    });
    let connect = || async { network.host(SENDERS).connect(server.clone()).await.unwrap() };
    let acknowledged = Arc::new(AtomicU64::new(0));
    let (connection, counter) = (connect().await, acknowledged.clone());
    let sending = async move { send(&connection, usize::MAX, LONG, &counter).await };
    let _long = has_long.then(|| runtime.spawn(sending));
    runtime.sleep(Duration::from_secs(3)).await;
    let (start, before) = (runtime.elapsed(), acknowledged.load(Relaxed));
    let mut seen = Seen::default();
    for _ in 0..FLOWS {
        let begun = runtime.elapsed();
        seen.path += network.queueing_delay(SENDERS, SERVER).as_secs_f64() * 1e3 / f64::from(FLOWS);
        seen.sendbox += network.bundle_delay(SENDERS, SERVER).as_secs_f64() * 1e3 / f64::from(FLOWS);
        send(&connect().await, SHORT, SHORT / 2, &AtomicU64::new(0)).await;
        let took = runtime.elapsed() - begun;
        seen.short += took.as_secs_f64() * 1e3 / f64::from(FLOWS);
        runtime.sleep(PERIOD.saturating_sub(took)).await;
    }
    let packets = acknowledged.load(Relaxed) - before;
    seen.long = packets as f64 * PACKET as f64 / (runtime.elapsed() - start).as_secs_f64() / RATE as f64;
    seen
}

/// Sends `count` packets, of which `window` are on their way, until all are acknowledged.
async fn send(connection: &SimConnection, count: usize, window: usize, acknowledged: &AtomicU64) {
    for number in 0..count.saturating_add(window) {
        if number >= window {
            connection.recv().await.unwrap();
            acknowledged.fetch_add(1, Relaxed);
        }
        if number < count {
            connection.send(Buf::new(PACKET, 0).unwrap()).await.unwrap();
        }
    }
}

async fn answer(connection: SimConnection) {
    while connection.recv().await.is_ok() {
        connection.send(Buf::new(8, 0).unwrap()).await.unwrap();
    }
}

#[test]
fn the_queue_moves_to_the_senders_side_and_short_flows_pass_a_long_one() {
    let [without, fifo, fair] = [None, Some(Scheduling::Fifo), Some(Scheduling::FairAmongFlows)]
        .map(|bundle| run(Scene { has_long: true, bundle }));
    println!("without {without:?}\nin order {fifo:?}\nfair {fair:?}");
    assert!(without.path > 80.0 && without.sendbox == 0.0, "{without:?}");
    for bundled in [&fifo, &fair] {
        assert!(bundled.path < 15.0 && bundled.sendbox > 60.0, "{bundled:?}");
        // The path never runs dry for long.
        assert!(bundled.long > 0.95 * without.long, "{bundled:?} after {without:?}");
    }
    // Moving the queue does not help by itself; choosing from it does.
    assert!(fifo.short > 0.8 * without.short, "{fifo:?} after {without:?}");
    assert!(fair.short < 0.6 * without.short, "{fair:?} after {without:?}");
}

#[test]
fn a_bundle_that_does_not_fill_the_path_is_not_slowed_down() {
    let [without, fair] =
        [None, Some(Scheduling::FairAmongFlows)].map(|bundle| run(Scene { has_long: false, bundle }));
    assert!(fair.short < 1.1 * without.short, "{fair:?} after {without:?}");
}
