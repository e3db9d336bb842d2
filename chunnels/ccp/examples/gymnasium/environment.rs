//! Congestion control as an environment for reinforcement learning, in virtual time (thesis 4.7.5): one flow on a path of 12 Mbit/s and
//! 50 ms, with a buffer of two bandwidth-delay products. An action is a factor for the window, each 50 ms.

use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use bertha_core::{Addr, Buf, Connection, Datapath, Error, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Limits, Link, Network, Path, Rate, Schedule, Sim};
use serde::Serialize;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

const PACKET: usize = 1_352;
const MESSAGE: usize = 1_337;

/// The rate in bytes per second, and the delay in each direction.
const RATE: u64 = 1_500_000;
const DELAY: Duration = Duration::from_millis(25);

/// The time of a step, and the number of steps of an episode.
const STEP: Duration = Duration::from_millis(50);
pub(crate) const STEPS: usize = 100;

/// The bounds of an action, and of the window in packets.
pub(crate) const FACTORS: [f64; 2] = [0.5, 2.0];
const WINDOWS: [f64; 2] = [2.0, 400.0];

/// The window at the start, in packets.
const START: f64 = 10.0;

/// The state after a step.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub(crate) struct Observation {
    /// The share of the link that was used.
    pub throughput: f64,
    /// The time that the queue adds to the last round trip, as a share of the shortest round trip.
    pub queue: f64,
    /// The packets that were lost.
    pub lost: u64,
    /// The window in packets.
    pub window: f64,
}

impl Observation {
    /// Returns the reward, which is high for a full link and an empty queue.
    pub(crate) fn reward(&self) -> f64 {
        self.throughput - self.queue
    }
}

/// Runs an episode. `decide` chooses an action after each step, and may end the episode with `None`; the last
/// observation, with which the episode is over, is the result.
///
/// # Errors
/// The errors of the simulated connection.
pub(crate) fn episode(
    seed: u64,
    decide: impl FnMut(&Observation) -> Option<f64> + Send,
) -> Result<Observation, Error> {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    network.set_limits(Limits { backlog: 1, queue: 65_536 });
    network.set_link_between(CLIENT, SERVER, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(SERVER, CLIENT, Link { delay: DELAY, ..Link::default() });
    let path = Path::new(Rate::fixed(RATE), DELAY).buffered(2.0);
    network.emulate([(CLIENT, SERVER)], Emulator::new(path, seed));
    sim.run(play(network, decide))
}

async fn play(
    network: Network,
    mut decide: impl FnMut(&Observation) -> Option<f64>,
) -> Result<Observation, Error> {
    let runtime = network.runtime();
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await?;
    let base = network.host(CLIENT).connect(listener.local_addr()).await?;
    let signals = Arc::new(Signals::default());
    signals.set_window(START);
    let stack = Reliable::new().packet(PACKET);
    let client = stack.clone().with(Steered(signals.clone())).wrap(base).await?;
    let _receiving = runtime.spawn(async move {
        let Ok(base) = listener.accept().await else { return };
        let Ok(server) = stack.wrap(base).await else { return };
        while server.recv().await.is_ok() {}
    });
    let _sending = runtime.spawn(async move {
        while let Ok(message) = Buf::new(MESSAGE, 0)
            && client.send(message).await.is_ok()
        {}
    });
    let mut observation = Observation { window: START, ..Observation::default() };
    for _ in 0..STEPS {
        let Some(factor) = decide(&observation) else { break };
        let factor = factor.clamp(FACTORS[0], FACTORS[1]);
        signals.set_window((observation.window * factor).clamp(WINDOWS[0], WINDOWS[1]));
        runtime.sleep(STEP).await;
        observation = signals.observe();
    }
    Ok(observation)
}

/// The signals since the last step, and the window.
#[derive(Debug, Default)]
struct Signals {
    /// The window in bytes.
    window: AtomicU64,
    acked: AtomicU64,
    lost: AtomicU64,
    /// The round-trip time in microseconds.
    rtt: AtomicU64,
}

impl Signals {
    fn set_window(&self, packets: f64) {
        self.window.store((packets * PACKET as f64) as u64, Relaxed);
    }

    fn observe(&self) -> Observation {
        let rtt = Duration::from_micros(self.rtt.load(Relaxed));
        Observation {
            throughput: self.acked.swap(0, Relaxed) as f64 / (RATE as f64 * STEP.as_secs_f64()),
            queue: rtt.saturating_sub(2 * DELAY).as_secs_f64() / (2 * DELAY).as_secs_f64(),
            lost: self.lost.swap(0, Relaxed),
            window: self.window.load(Relaxed) as f64 / PACKET as f64,
        }
    }
}

/// An algorithm whose window is set from outside.
#[derive(Debug)]
struct Steered(Arc<Signals>);

impl Algorithm for Steered {
    fn start(&self, _: u64) -> Box<dyn CongestionControl> {
        Box::new(Self(self.0.clone()))
    }
}

impl CongestionControl for Steered {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        self.0.acked.fetch_add(ack.bytes_acked + ack.bytes_misordered, Relaxed);
        self.0.lost.fetch_add(ack.lost_pkts_sample, Relaxed);
        self.0.rtt.store(flow.rtt_sample_us, Relaxed);
    }

    fn window(&self) -> u64 {
        self.0.window.load(Relaxed)
    }
}
