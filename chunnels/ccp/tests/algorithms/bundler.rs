//! Two boxes around a path whose queue neither end can order (thesis 4.7.6), for flows of `Reliable` with
//! their own congestion controls, and with an agent that controls the bundle as a single flow: the queue moves
//! to the senders' side, and short flows no longer wait behind a long flow.

use crate::scene::{self, Agent, Sender, Traffic};
use bertha_bundle::{Bundle, Measurement, Scheduling};
use bertha_ccp::algorithms::{Copa, Nimbus};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Cubic;
use bertha_chunnels::reliable::ReliableConnection;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Limits, Link, Network, Path, Rate, Schedule, Sim, SimConnection};
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

/// The time for which a long flow is alone if nothing needs longer, and the number of short flows.
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

struct Scene {
    has_long: bool,
    /// The time for which a long flow is alone.
    warm_up: Duration,
    /// The share of acknowledgements that get lost, of both boxes and flows.
    loss: f64,
    bundled: Option<Bundled>,
}

/// The order of packets in a sendbox, and the agent of its rate.
struct Bundled {
    scheduling: Scheduling,
    agent: Agent,
}

impl Scene {
    fn new(bundled: Option<Bundled>) -> Self {
        Self { has_long: true, warm_up: WARM_UP, loss: 0.0, bundled }
    }
}

fn copa(scheduling: Scheduling) -> Option<Bundled> {
    Some(Bundled { scheduling, agent: Agent::of(Copa::without_competition()) })
}

/// Lays the path and the boxes around it.
fn lay(network: &Network, scene: &Scene, seed: u64) {
    network.set_limits(Limits { backlog: 64, queue: 65_536 });
    network.set_link_between(SENDERS, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, SENDERS, Link { delay: DELAY, loss: scene.loss, ..Link::default() });
    let path = Path::new(Rate::fixed(RATE), DELAY).buffered(2.0);
    let buffer = path.buffer;
    network.emulate([(SENDERS, SERVER)], Emulator::new(path, seed));
    let Some(Bundled { scheduling, agent }) = &scene.bundled else { return };
    let mut control = agent.bundle_control();
    let inner_loop = move |measurement: &Measurement| control.on_measurement(measurement);
    let bundle = Bundle { scheduling: scheduling.clone(), buffer, key: 0 };
    network.bundle([(SENDERS, SERVER)], bundle, None, inner_loop);
}

fn simulation(seed: u64) -> Sim {
    Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX).time_limit(Duration::from_secs(120))
}

fn run(scene: &Scene) -> Seen {
    // The run depends on the seed by losses alone.
    let seed = 1;
    let mut sim = simulation(seed);
    let network = sim.network().clone();
    lay(&network, scene, seed);
    sim.run(observe(network, scene.has_long, scene.warm_up))
}

async fn observe(network: Network, has_long: bool, warm_up: Duration) -> Seen {
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
    let _long = has_long.then(|| runtime.spawn(send_forever(network.clone(), server.clone())));
    runtime.sleep(warm_up).await;
    let (start, before) = (runtime.elapsed(), long.load(Relaxed));
    let (mut path, mut sendbox, mut times) = (0.0, 0.0, Vec::new());
    for _ in 0..SHORT_FLOWS {
        let begun = runtime.elapsed();
        path += path_delay(&network);
        sendbox += sendbox_delay(&network);
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

async fn send_forever(network: Network, server: Addr) {
    let connection = wrap(network.host(SENDERS).connect(server).await.unwrap()).await;
    loop {
        connection.send(Buf::new(MESSAGE, 0).unwrap()).await.unwrap();
    }
}

/// Returns the delay in the queue of the path in milliseconds.
fn path_delay(network: &Network) -> f64 {
    network.queueing_delay(SENDERS, SERVER).as_secs_f64() * 1e3
}

/// Returns the delay in the sendbox in milliseconds; zero without a sendbox.
fn sendbox_delay(network: &Network) -> f64 {
    let state = network.bundle_state(SENDERS, SERVER);
    state.map_or(0.0, |state| state.queueing_delay.as_secs_f64() * 1e3)
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
    let [without, fifo, fair] = [None, copa(Scheduling::Fifo), copa(Scheduling::FairAmongFlows)]
        .map(|bundled| run(&Scene::new(bundled)));
    println!("without {without:?}\nin order {fifo:?}\nfair {fair:?}");
    assert!(without.path > 60.0 && without.sendbox == 0.0, "{without:?}");
    for bundled in [&fifo, &fair] {
        assert!(bundled.path < 6.0 && bundled.sendbox > 50.0, "{bundled:?}");
        assert!(bundled.long > 0.92 * without.long, "{bundled:?} after {without:?}");
    }
    // Moving the queue alone helps no flow; choosing from the queue does.
    assert!(fifo.short > 0.8 * without.short, "{fifo:?} after {without:?}");
    assert!(fair.short < 0.5 * without.short, "{fair:?} after {without:?}");
}

#[test]
fn a_bundle_that_does_not_fill_the_path_is_not_slowed_down() {
    let [without, fair] = [None, copa(Scheduling::FairAmongFlows)]
        .map(|bundled| run(&Scene { has_long: false, ..Scene::new(bundled) }));
    assert!(fair.short < 1.1 * without.short, "{fair:?} after {without:?}");
}

#[test]
fn nimbus_moves_the_queue_although_acknowledgements_get_lost() {
    let nimbus = Some(Bundled { scheduling: Scheduling::Fifo, agent: Agent::of(Nimbus) });
    // Nimbus competes until its first verdict, which takes some six seconds.
    let warm_up = Duration::from_secs(8);
    let [without, bundled] = [None, nimbus].map(|it| run(&Scene { loss: 0.1, warm_up, ..Scene::new(it) }));
    println!("without {without:?}\nbundled {bundled:?}");
    assert!(bundled.path < 20.0 && bundled.sendbox > 40.0, "{bundled:?}");
    assert!(bundled.long > 0.92 * without.long, "{bundled:?} after {without:?}");
}

/// Returns the shares of the link of two flows in a bundle, and of a flow outside that begins after ten seconds.
fn shares_beside_a_flow(agent: &Agent) -> [f64; 2] {
    let path = scene::path(24.0, 50, 2.0);
    let cubic = || Traffic::Bulk(Reliable::new().with(Cubic));
    let beside = Sender::new(2, cubic()).during(10, 1_000);
    let senders = [Sender::new(1, cubic()), Sender::new(1, cubic()), beside];
    let mut control = agent.bundle_control();
    let seen = scene::run_behind(&path, &senders, 40, 1, |network| {
        let inner_loop = move |measurement: &Measurement| control.on_measurement(measurement);
        let bundle = Bundle { scheduling: Scheduling::FairAmongFlows, buffer: path.buffer, key: 0 };
        network.bundle([(scene::host(1), scene::SERVER)], bundle, None, inner_loop);
    });
    let share = |sender: usize| scene::mean(&seen.throughputs[sender], 25, 40) / 24.0;
    [share(0) + share(1), share(2)]
}

#[test]
fn nimbus_leaves_a_bundle_its_part_beside_a_flow_that_fills_the_queue_and_copa_in_one_mode_does_not() {
    let [bundle, beside] = shares_beside_a_flow(&Agent::of(Nimbus));
    println!("bundle {bundle}, beside it {beside}");
    assert!(bundle > 0.4 && beside > 0.3, "{bundle}, {beside}");
    let [starved, _] = shares_beside_a_flow(&Agent::of(Copa::without_competition()));
    println!("in one mode {starved}");
    assert!(starved < 0.5 * bundle, "{starved} after {bundle}");
}

#[test]
fn without_its_agent_a_bundle_is_unlimited_and_the_queue_is_the_paths() {
    let scene = Scene::new(copa(Scheduling::FairAmongFlows));
    let mut sim = simulation(1);
    let network = sim.network().clone();
    lay(&network, &scene, 1);
    let runtime = network.runtime().clone();
    sim.run(async move {
        let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
        let _long = runtime.spawn(send_forever(network.clone(), listener.local_addr()));
        let connection = wrap(listener.accept().await.unwrap()).await;
        let _receiving = runtime.spawn(async move { serve(connection, &AtomicU64::new(0)).await });
        runtime.sleep(WARM_UP).await;
        assert!(sendbox_delay(&network) > 20.0 && path_delay(&network) < 10.0);
        drop(scene);
        runtime.sleep(WARM_UP).await;
        let state = network.bundle_state(SENDERS, SERVER).unwrap();
        assert_eq!((state.queueing_delay, state.sendbox.waiting), (Duration::ZERO, 0));
        assert!(path_delay(&network) > 30.0, "{} ms", path_delay(&network));
    });
}
