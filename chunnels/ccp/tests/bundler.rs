//! Two boxes around a path whose queue neither end can order (thesis 4.7.6), for flows of `Reliable` with
//! their own congestion controls: the queue moves to the senders' side, and short flows no longer wait behind
//! a long flow.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print figures")]

use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Cubic;
use bertha_chunnels::reliable::ReliableConnection;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{
    Bundle, Emulator, Limits, Link, Network, Path, Rate, Schedule, Scheduling, Sim, SimConnection,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const SENDERS: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 1, 0, 0];

const PACKET: usize = 1_352;
const MESSAGE: usize = 1_337;

/// The rate in bytes per second, and the delay in each direction.
const RATE: u64 = 3_000_000;
const DELAY: Duration = Duration::from_millis(25);

/// Number of messages of a short flow, and the time between two short flows.
const SHORT: usize = 20;
const PERIOD: Duration = Duration::from_millis(400);

/// The time for which a long flow is alone, and the number of short flows.
const WARM_UP: Duration = Duration::from_secs(5);
const SHORT_FLOWS: usize = 25;

#[derive(Debug)]
struct Seen {
    /// The mean delays in the queues of the path and of the sendbox, in milliseconds.
    path: f64,
    sendbox: f64,
    /// The time of a short flow in the middle, from its connection to the last byte of the answer, in milliseconds.
    short: f64,
    /// The share of the link that the long flow used.
    long: f64,
}

#[derive(Debug, Clone, Copy)]
struct Scene {
    has_long: bool,
    /// The order of packets in the sendbox, if there is a sendbox.
    bundle: Option<Scheduling>,
}

fn run(scene: Scene) -> Seen {
    // The run does not depend on the seed.
    let seed = 1;
    let mut sim =
        Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX).time_limit(Duration::from_secs(120));
    let network = sim.network().clone();
    network.set_limits(Limits { backlog: 64, queue: 65_536 });
    network.set_link_between(SENDERS, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, SENDERS, Link { delay: DELAY, ..Link::default() });
    let path = Path::new(Rate::fixed(RATE), DELAY).buffered(2.0);
    let buffer = path.buffer;
    network.emulate([(SENDERS, SERVER)], Emulator::new(path, seed));
    if let Some(scheduling) = scene.bundle {
        let target = Duration::from_millis(5);
        network.bundle([(SENDERS, SERVER)], Bundle { scheduling, buffer, target });
    }
    sim.run(observe(network, scene.has_long))
}

async fn observe(network: Network, has_long: bool) -> Seen {
    let runtime = network.runtime().clone();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let server = listener.local_addr();
    let long = Arc::new(AtomicU64::new(0));
    let (spawner, arrived) = (runtime.clone(), long.clone());
    let _serving = runtime.spawn(async move {
        let mut receiving = Vec::new();
        loop {
            let connection = wrap(listener.accept().await.unwrap()).await;
            let arrived = arrived.clone();
            receiving.push(spawner.spawn(async move { serve(connection, &arrived).await }));
        }
    });
    let (datapath, addr) = (network.host(SENDERS), server.clone());
    let sending = async move {
        let connection = wrap(datapath.connect(addr).await.unwrap()).await;
        loop {
            connection.send(Buf::new(MESSAGE, 0).unwrap()).await.unwrap();
        }
    };
    let _long = has_long.then(|| runtime.spawn(sending));
    runtime.sleep(WARM_UP).await;
    let (start, before) = (runtime.elapsed(), long.load(Relaxed));
    let (mut path, mut sendbox, mut times) = (0.0, 0.0, Vec::new());
    for _ in 0..SHORT_FLOWS {
        let begun = runtime.elapsed();
        path += network.queueing_delay(SENDERS, SERVER).as_secs_f64() * 1e3;
        sendbox += network.bundle_delay(SENDERS, SERVER).as_secs_f64() * 1e3;
        let connection = wrap(network.host(SENDERS).connect(server.clone()).await.unwrap()).await;
        for number in 0..SHORT {
            let mut message = Buf::new(MESSAGE, 0).unwrap();
            // The first byte says that the flow is short, the second that this message is the last.
            (message[0], message[1]) = (1, u8::from(number + 1 == SHORT));
            connection.send(message).await.unwrap();
        }
        connection.recv().await.unwrap();
        let took = runtime.elapsed() - begun;
        times.push(took.as_secs_f64() * 1e3);
        runtime.sleep(PERIOD.saturating_sub(took)).await;
    }
    times.sort_by(f64::total_cmp);
    let seconds = (runtime.elapsed() - start).as_secs_f64();
    Seen {
        path: path / SHORT_FLOWS as f64,
        sendbox: sendbox / SHORT_FLOWS as f64,
        short: times[SHORT_FLOWS / 2],
        long: (long.load(Relaxed) - before) as f64 / seconds / RATE as f64,
    }
}

async fn wrap(base: SimConnection) -> ReliableConnection<SimConnection> {
    Reliable::new().packet(PACKET).with(Cubic).wrap(base).await.unwrap()
}

/// Counts the bytes of a long flow, and answers the end of a short flow.
async fn serve(connection: ReliableConnection<SimConnection>, arrived: &AtomicU64) {
    while let Ok(message) = connection.recv().await {
        match message[..2] {
            [1, 0] => {}
            [1, _] => connection.send(Buf::new(8, 0).unwrap()).await.unwrap(),
            _ => _ = arrived.fetch_add(message.len() as u64, Relaxed),
        }
    }
}

#[test]
fn the_queue_moves_to_the_senders_side_and_short_flows_pass_a_long_one() {
    let [without, fifo, fair] = [None, Some(Scheduling::Fifo), Some(Scheduling::FairAmongFlows)]
        .map(|bundle| run(Scene { has_long: true, bundle }));
    println!("without {without:?}\nin order {fifo:?}\nfair {fair:?}");
    assert!(without.path > 30.0 && without.sendbox == 0.0, "{without:?}");
    for bundled in [&fifo, &fair] {
        assert!(bundled.path < 10.0 && bundled.sendbox > 20.0, "{bundled:?}");
        // The path never runs empty for long.
        assert!(bundled.long > 0.95 * without.long, "{bundled:?} after {without:?}");
    }
    // Moving the queue alone helps no flow; choosing from the queue does.
    assert!(fifo.short > 0.8 * without.short, "{fifo:?} after {without:?}");
    assert!(fair.short < 0.6 * without.short, "{fair:?} after {without:?}");
}

#[test]
fn a_bundle_that_does_not_fill_the_path_is_not_slowed_down() {
    let [without, fair] =
        [None, Some(Scheduling::FairAmongFlows)].map(|bundle| run(Scene { has_long: false, bundle }));
    assert!(fair.short < 1.1 * without.short, "{fair:?} after {without:?}");
}
