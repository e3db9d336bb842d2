//! Flows that always have data to send, over a single emulated path, in virtual time.

use super::control::Control;
use crate::harness::thread_time;
use crate::{Error, ErrorKind};
use bertha_chunnels::reliable::{Reliable, ReliableConnection};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Limits, Link, Network, Path, Schedule, Sim, SimConnection, SimDatapath};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Address of the server.
pub(super) const SERVER: [u8; 4] = [10, 1, 0, 0];

/// Size of a packet in bytes.
pub(super) const PACKET: usize = 1_352;

/// Size of a message that fills a packet, with its header of about 15 bytes.
pub(super) const MESSAGE: usize = 1_337;

/// One flow.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Flow {
    /// Time at which the flow begins to send.
    pub(super) start: Duration,
    /// Time for which the flow sends; `None` means to the end.
    pub(super) lasts: Option<Duration>,
    /// Additional time of the flow's round trips, compared with the path's.
    pub(super) detour: Duration,
}

/// Flows that share a path, and the way in which they are observed.
#[derive(Debug, Clone)]
pub(super) struct Course {
    pub(super) path: Path,
    pub(super) flows: Vec<Flow>,
    /// True if all flows begin at a common host, instead of a host each.
    pub(super) shares_host: bool,
    /// Time for which they are observed, and time between two samples.
    pub(super) time: Duration,
    pub(super) period: Duration,
    pub(super) seed: u64,
}

/// The state of a flow at a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Sample {
    /// Number of bytes in packets that have arrived.
    pub(super) delivered: u64,
    /// The congestion window, in packets.
    pub(super) window: f64,
}

/// The samples of a course.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct History {
    period: Duration,
    /// Samples of each flow, in order of time.
    pub(super) flows: Vec<Vec<Sample>>,
    /// Delay in the queue at each sample.
    pub(super) queueing: Vec<Duration>,
}

/// A course, and its cost.
pub(super) struct Timed {
    pub(super) history: History,
    /// The processor time of the simulation and of the agent.
    pub(super) processor: Duration,
}

impl Course {
    /// Creates the course of a single flow.
    pub(super) fn alone(path: Path, seconds: u64, period: Duration, seed: u64) -> Self {
        let time = Duration::from_secs(seconds);
        Self { path, flows: vec![Flow::default()], shares_host: false, time, period, seed }
    }

    /// Runs the course, each flow controlled by `control`.
    ///
    /// # Errors
    /// [`ErrorKind::Bertha`] if a simulated connection fails; the errors of starting an agent.
    pub(super) fn run(&self, control: Control) -> Result<History, Error> {
        self.run_timed(control).map(|timed| timed.history)
    }

    /// Runs the course, each flow controlled by `control`, and takes its processor time.
    ///
    /// # Errors
    /// Errors of [`run`](Self::run).
    pub(super) fn run_timed(&self, control: Control) -> Result<Timed, Error> {
        let before = thread_time();
        let mut sim = simulation(self.seed, Duration::from_secs(60) + self.time);
        let network = sim.network().clone();
        let details: Vec<_> = self.flows.iter().map(|flow| flow.detour).collect();
        lay(&network, &self.path, &details, self.seed);
        let started = control.start()?;
        let history = sim
            .run(self.observe(network, started.stack()))
            .map_err(Error::while_doing(ErrorKind::Bertha, format!("flows of {control}")))?;
        let processor = thread_time() - before + started.stop();
        Ok(Timed { history, processor })
    }

    async fn observe(&self, network: Network, stack: Reliable) -> Result<History, bertha_core::Error> {
        let runtime = network.runtime();
        let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
        let states: Vec<Arc<FlowsState>> = self.flows.iter().map(|_| Arc::default()).collect();
        let mut tasks = Vec::new();
        for (number, (flow, state)) in self.flows.iter().copied().zip(&states).enumerate() {
            let client = if self.shares_host { 0 } else { number };
            let datapath = network.host(host(client));
            let server = listener.local_addr();
            let clock = runtime.clone();
            let stack = stack.clone().packet(PACKET);
            let state = Arc::clone(state);
            let lasts = flow.lasts.unwrap_or(self.time);
            tasks.push(runtime.spawn(async move {
                clock.sleep(flow.start).await;
                tokio::select! {
                    // A flow that fails has no throughput, which the figures show.
                    _ = send(&datapath, server, &stack, number as u64, &state) => {}
                    () = clock.sleep(lasts) => {}
                }
                state.set_client(None);
            }));
        }
        let clock = runtime.clone();
        let by_number = states.clone();
        tasks.push(runtime.spawn(async move {
            let mut receiving = Vec::new();
            loop {
                // This end sends only acknowledgements.
                let Ok(base) = listener.accept().await else { return };
                let Ok(server) = Reliable::new().packet(PACKET).wrap(base).await else { return };
                receiving.push(clock.spawn(receive(server, by_number.clone())));
            }
        }));
        let count = (self.time.as_nanos() / self.period.as_nanos()) as usize;
        let mut history = History {
            period: self.period,
            flows: vec![Vec::with_capacity(count); self.flows.len()],
            queueing: Vec::with_capacity(count),
        };
        for _ in 0..count {
            runtime.sleep(self.period).await;
            for (samples, state) in history.flows.iter_mut().zip(&states) {
                samples.push(state.sample());
            }
            history.queueing.push(network.queueing_delay(host(0), SERVER));
        }
        Ok(history)
    }
}

/// The state of a flow.
#[derive(Default)]
struct FlowsState {
    /// Number of bytes in packets that have arrived.
    delivered: AtomicU64,
    /// Connection of the client while it sends.
    client: Mutex<Option<Arc<ReliableConnection<SimConnection>>>>,
}

impl FlowsState {
    fn set_client(&self, client: Option<Arc<ReliableConnection<SimConnection>>>) {
        *self.client.lock().unwrap_or_else(PoisonError::into_inner) = client;
    }

    fn sample(&self) -> Sample {
        let client = self.client.lock().unwrap_or_else(PoisonError::into_inner);
        let window = client.as_ref().map_or(0, |client| client.statistics().window);
        Sample { delivered: self.delivered.load(Relaxed), window: window as f64 / PACKET as f64 }
    }
}

/// Connects, sends the flow's number, and then sends forever.
async fn send(
    datapath: &SimDatapath,
    server: Addr,
    stack: &Reliable,
    number: u64,
    state: &FlowsState,
) -> Result<(), bertha_core::Error> {
    let client = Arc::new(stack.wrap(datapath.connect(server).await?).await?);
    state.set_client(Some(client.clone()));
    let mut first = Buf::new(8, 0)?;
    first.copy_from_slice(&number.to_be_bytes());
    client.send(first).await?;
    loop {
        client.send(Buf::new(MESSAGE, 0)?).await?;
    }
}

/// Counts arriving bytes, for the flow whose number is the first message.
async fn receive(server: ReliableConnection<SimConnection>, states: Vec<Arc<FlowsState>>) {
    let Ok(first) = server.recv().await else { return };
    let number = first.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
    let Some(state) = states.get(number as usize) else { return };
    let mut burst = Vec::new();
    while server.recv_batch(&mut burst, 64).await.is_ok() {
        state.delivered.fetch_add((burst.len() * PACKET) as u64, Relaxed);
        burst.clear();
    }
}

impl History {
    /// Returns the time of a sample, in seconds.
    pub(super) fn at(&self, sample: usize) -> f64 {
        self.period.as_secs_f64() * (sample + 1) as f64
    }

    /// Returns the megabits per second of a flow, for each period.
    pub(super) fn throughputs(&self, flow: usize) -> Vec<f64> {
        let before = std::iter::once(0).chain(self.flows[flow].iter().map(|sample| sample.delivered));
        let period = self.period.as_secs_f64();
        let rate = |(sample, before): (&Sample, u64)| (sample.delivered - before) as f64 * 8e-6 / period;
        self.flows[flow].iter().zip(before).map(rate).collect()
    }

    /// Returns the bytes per second of each flow, after the first fifth of the time.
    pub(super) fn rates(&self) -> Vec<f64> {
        let of = |samples: &Vec<Sample>| {
            let first = samples.len() / 5;
            let last = samples.len().saturating_sub(1);
            let bytes = samples[last].delivered - samples[first].delivered;
            bytes as f64 / ((last - first).max(1) as f64 * self.period.as_secs_f64())
        };
        self.flows.iter().map(of).collect()
    }

    /// Returns the share of `rate`, in bytes per second, that all flows use after the first fifth of the
    /// time.
    pub(super) fn utilisation(&self, rate: f64) -> f64 {
        self.rates().iter().sum::<f64>() / rate
    }

    /// Returns the delays in the queue after the first fifth of the time, in milliseconds.
    pub(super) fn delays(&self) -> Vec<f64> {
        let late = &self.queueing[self.queueing.len() / 5..];
        late.iter().map(|delay| delay.as_secs_f64() * 1e3).collect()
    }
}

/// Returns a path of this number of megabits per second, with a round trip of this number of milliseconds and
/// a buffer of their product.
pub(super) fn path(megabits: f64, round_trip_ms: u64) -> Path {
    let rate = bertha_datapath_sim::Rate::fixed((megabits * 1e6 / 8.0) as u64);
    Path::new(rate, Duration::from_millis(round_trip_ms) / 2)
}

/// Returns the mean; zero without values.
pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

/// Returns a simulation that only time ends.
pub(super) fn simulation(seed: u64, limit: Duration) -> Sim {
    Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX).time_limit(limit)
}

/// Returns the address of a client.
pub(super) fn host(client: usize) -> [u8; 4] {
    let [.., high, low] = client.to_be_bytes();
    [10, 0, high, low]
}

/// Makes clients with these longer round trips share a path to the server, with a way back for each.
pub(super) fn lay(network: &Network, path: &Path, detours: &[Duration], seed: u64) {
    network.set_limits(Limits { backlog: 1_024, queue: 65_536 });
    for (client, detour) in detours.iter().enumerate() {
        let out = Link { delay: *detour / 2, ..Link::default() };
        network.set_link_between(host(client), SERVER, out);
        network.set_link_between(SERVER, host(client), Link { delay: path.delay + *detour / 2, ..out });
    }
    let directions = (0..detours.len()).map(|client| (host(client), SERVER));
    network.emulate(directions, Emulator::new(path.clone(), seed));
}

/// Both ends of a connection.
pub(super) struct Ends {
    pub(super) client: Arc<ReliableConnection<SimConnection>>,
    pub(super) server: ReliableConnection<SimConnection>,
}

/// Connects this number of clients, one after another.
pub(super) async fn connect(
    network: &Network,
    stack: &Reliable,
    clients: usize,
) -> Result<Vec<Ends>, bertha_core::Error> {
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let mut ends = Vec::with_capacity(clients);
    for client in 0..clients {
        let base = network.host(host(client)).connect(listener.local_addr()).await?;
        let client = Arc::new(stack.wrap(base).await?);
        client.send(Buf::new(8, 0)?).await?;
        // This end sends only acknowledgements.
        let server = Reliable::new().packet(PACKET).wrap(listener.accept().await?).await?;
        server.recv().await?;
        ends.push(Ends { client, server });
    }
    Ok(ends)
}
