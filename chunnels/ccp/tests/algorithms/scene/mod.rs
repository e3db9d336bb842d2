//! Senders that share an emulated link, each with its own congestion control.
#![allow(dead_code, reason = "each test uses some of this module")]

use bertha_ccp::algorithms::{Aggregated, SharedWindow};
use bertha_ccp::{AgentEnd, BundleControl, Ccp, Pace};
use bertha_chunnels::Reliable;
use bertha_chunnels::reliable::ReliableConnection;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Limits, Link, Network, Path, Rate, Schedule, Sim, SimConnection};
use portus::ipc::BackendBuilder;
use portus::{CongAlg, RunBuilder};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

pub(crate) const SERVER: [u8; 4] = [10, 1, 0, 0];
const PACKET: usize = 1_352;
const MESSAGE: usize = 1_337;

/// The time between two samples.
pub(crate) const SAMPLE: Duration = Duration::from_millis(100);

/// A sender, with the number of its host.
#[derive(Clone)]
pub(crate) struct Sender {
    pub(crate) host: u8,
    pub(crate) start: Duration,
    pub(crate) end: Duration,
    pub(crate) traffic: Traffic,
}

/// The traffic of a sender.
#[derive(Clone)]
pub(crate) enum Traffic {
    /// As many bytes as this congestion control lets through.
    Bulk(Reliable),
    /// One message, and then none on the open connection.
    Idle(Reliable),
    /// Datagrams at this rate, in bytes per second.
    Constant(u64),
}

impl Sender {
    pub(crate) fn new(host: u8, traffic: Traffic) -> Self {
        Self { host, start: Duration::ZERO, end: Duration::from_secs(100_000), traffic }
    }

    pub(crate) fn during(self, start: u64, end: u64) -> Self {
        Self { start: Duration::from_secs(start), end: Duration::from_secs(end), ..self }
    }
}

/// The samples of all senders.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Seen {
    /// Megabits per second that arrived, for each sender.
    pub(crate) throughputs: Vec<Vec<f64>>,
    /// Windows in packets, for each sender; zero for senders without a window.
    pub(crate) windows: Vec<Vec<f64>>,
    /// The delay in the queue, in milliseconds.
    pub(crate) queue: Vec<f64>,
    /// Packets that the link dropped so far.
    pub(crate) dropped: Vec<u64>,
}

/// Returns the mean of the samples from one second to another.
pub(crate) fn mean(samples: &[f64], from: usize, to: usize) -> f64 {
    let per_second = (1.0 / SAMPLE.as_secs_f64()) as usize;
    let part = &samples[from * per_second..to * per_second];
    part.iter().sum::<f64>() / part.len() as f64
}

/// Makes a path of this number of megabits per second, with a round trip of `round_trip_ms` milliseconds, and
/// a buffer of `products` bandwidth-delay products.
pub(crate) fn path(megabits: f64, round_trip_ms: u64, products: f64) -> Path {
    let rate = Rate::fixed((megabits * 1e6 / 8.0) as u64);
    Path::new(rate, Duration::from_millis(round_trip_ms) / 2).buffered(products)
}

/// Runs the senders for `seconds` seconds.
pub(crate) fn run(path: &Path, senders: &[Sender], seconds: u64, seed: u64) -> Seen {
    run_behind(path, senders, seconds, seed, |_| {})
}

/// Runs the senders for `seconds` seconds, in a network that `lay` changes before.
pub(crate) fn run_behind(
    path: &Path,
    senders: &[Sender],
    seconds: u64,
    seed: u64,
    lay: impl FnOnce(&Network),
) -> Seen {
    let limit = Duration::from_secs(seconds + 10);
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX).time_limit(limit);
    let network = sim.network().clone();
    network.set_limits(Limits { backlog: 64, queue: 65_536 });
    network.answer_closed_ports(false);
    let hosts: Vec<_> = senders.iter().map(|sender| host(sender.host)).collect();
    for host in &hosts {
        network.set_link_between(*host, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
        network.set_link_between(SERVER, *host, Link { delay: path.delay, ..Link::default() });
    }
    network.emulate(hosts.iter().map(|host| (*host, SERVER)), Emulator::new(path.clone(), seed));
    lay(&network);
    sim.run(observe(network, senders.to_vec(), seconds))
}

pub(crate) fn host(number: u8) -> [u8; 4] {
    [10, 0, 0, number]
}

#[derive(Default)]
struct Counts {
    delivered: AtomicU64,
    /// The window in bytes.
    window: AtomicU64,
}

async fn observe(network: Network, senders: Vec<Sender>, seconds: u64) -> Seen {
    let runtime = network.runtime().clone();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let address = listener.local_addr();
    let counts: Vec<Arc<Counts>> = senders.iter().map(|_| Arc::default()).collect();
    let mut tasks = Vec::new();
    for (number, (sender, counts)) in senders.iter().cloned().zip(counts.iter().cloned()).enumerate() {
        let (network, address, clock) = (network.clone(), address.clone(), runtime.clone());
        tasks.push(runtime.spawn(async move {
            clock.sleep(sender.start).await;
            let end = sender.end.saturating_sub(sender.start);
            let sending = async {
                match sender.traffic {
                    Traffic::Bulk(stack) => {
                        bulk(&network, &stack, sender.host, number, address, &counts).await
                    }
                    Traffic::Idle(stack) => {
                        let _open = connect(&network, &stack, sender.host, number, address).await;
                        std::future::pending().await
                    }
                    Traffic::Constant(rate) => constant(&network, sender.host, rate).await,
                }
            };
            tokio::select! {
                () = sending => {}
                () = clock.sleep(end) => {}
            }
            counts.window.store(0, Relaxed);
        }));
    }
    let (clock, by_number) = (runtime.clone(), counts.clone());
    tasks.push(runtime.spawn(async move {
        let mut receiving = Vec::new();
        loop {
            let server = Reliable::new().packet(PACKET).wrap(listener.accept().await.unwrap()).await.unwrap();
            let counts = by_number.clone();
            receiving.push(clock.spawn(async move {
                let Ok(first) = server.recv().await else { return };
                let counts = &counts[usize::from(first[0])];
                let mut burst = Vec::new();
                while server.recv_batch(&mut burst, 64).await.is_ok() {
                    counts.delivered.fetch_add((burst.len() * PACKET) as u64, Relaxed);
                    burst.clear();
                }
            }));
        }
    }));
    let mut seen = Seen {
        throughputs: vec![Vec::new(); senders.len()],
        windows: vec![Vec::new(); senders.len()],
        ..Seen::default()
    };
    for _ in 0..seconds * 1_000 / SAMPLE.as_millis() as u64 {
        runtime.sleep(SAMPLE).await;
        for ((counts, throughputs), windows) in
            counts.iter().zip(&mut seen.throughputs).zip(&mut seen.windows)
        {
            let bytes = counts.delivered.swap(0, Relaxed) as f64;
            throughputs.push(bytes * 8e-6 / SAMPLE.as_secs_f64());
            windows.push(counts.window.load(Relaxed) as f64 / PACKET as f64);
        }
        seen.queue.push(network.queueing_delay(host(senders[0].host), SERVER).as_secs_f64() * 1e3);
        seen.dropped.push(network.counters().queue_full);
    }
    seen
}

/// Connects, and tells the server the number of this sender.
async fn connect(
    network: &Network,
    stack: &Reliable,
    from: u8,
    number: usize,
    address: Addr,
) -> ReliableConnection<SimConnection> {
    let base = network.host(host(from)).connect(address).await.unwrap();
    let client = stack.clone().packet(PACKET).wrap(base).await.unwrap();
    let mut message = Buf::new(8, 0).unwrap();
    message[0] = number as u8;
    client.send(message).await.unwrap();
    client
}

async fn bulk(network: &Network, stack: &Reliable, from: u8, number: usize, address: Addr, counts: &Counts) {
    let client = connect(network, stack, from, number, address).await;
    loop {
        client.send(Buf::new(MESSAGE, 0).unwrap()).await.unwrap();
        counts.window.store(client.statistics().window, Relaxed);
    }
}

async fn constant(network: &Network, from: u8, rate: u64) {
    let pause = Duration::from_secs_f64(PACKET as f64 / rate as f64);
    // No socket listens there; the datagrams use the link nevertheless.
    let base = network.host(host(from)).connect(Addr::Ip((SERVER, 9).into())).await.unwrap();
    loop {
        network.runtime().sleep(pause).await;
        base.send(Buf::new(PACKET, 0).unwrap()).await.unwrap();
    }
}

/// An agent in this process that runs an algorithm, until it is dropped.
pub(crate) struct Agent {
    ccp: Ccp,
    goes_on: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Agent {
    pub(crate) fn of<A: CongAlg<AgentEnd> + Send + 'static>(algorithm: A) -> Self {
        Self::made_by(|| algorithm)
    }

    pub(crate) fn aggregated(window: SharedWindow) -> Self {
        Self::made_by(move || Aggregated::new(window))
    }

    /// Makes an agent whose algorithm is made on its own thread.
    fn made_by<A: CongAlg<AgentEnd> + 'static>(make: impl FnOnce() -> A + Send + 'static) -> Self {
        let (ccp, end) = Ccp::in_process(Pace::Lockstep);
        let goes_on = Arc::new(AtomicBool::new(true));
        let seen = goes_on.clone();
        let thread = std::thread::spawn(move || {
            let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(make());
            // The agent ends with an error that says that it was told to stop.
            agent.with_stop_handle(seen).run().unwrap_or_default();
        });
        Self { ccp, goes_on, thread: Some(thread) }
    }

    /// Returns the traffic of a flow that the agent controls.
    pub(crate) fn bulk(&self) -> Traffic {
        Traffic::Bulk(Reliable::new().with(self.ccp.clone()))
    }

    /// Returns the control of a bundle by the agent, which is unlimited while there is none.
    pub(crate) fn bundle_control(&self) -> BundleControl {
        BundleControl::new(&self.ccp.clone().fallback(BundleControl::UNLIMITED), PACKET as u64)
    }

    /// Returns an idle flow that the agent controls.
    pub(crate) fn idle(&self) -> Traffic {
        Traffic::Idle(Reliable::new().with(self.ccp.clone()))
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.goes_on.store(false, Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap();
        }
    }
}
