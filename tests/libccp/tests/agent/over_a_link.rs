//! Cubic and Copa over a link of 12 Mbit/s and 20 ms (figure 4.11 of the thesis): by the datapath of this repository, and by libccp's.
//!
//! libccp reads the system's clock, so the simulation waits for that at each acknowledgement.

use super::{ToAgent, answer, stop};
use bertha_ccp::{Ccp, Pace, algorithms};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use bertha_core::{Addr, Buf, Connection as _, Datapath as _, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Link, Path, Rate, Schedule, Sim};
use crossbeam::channel::{Receiver, unbounded};
use libccp::{CongestionOps, Connection, Datapath, DatapathBuilder, FlowInfo, Primitives};
use portus::ipc::chan::Socket;
use portus::ipc::{BackendBuilder, Blocking};
use portus::{CCPHandle, CongAlg, RunBuilder};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

const PACKET: usize = 1_352;
const SECONDS: u64 = 4;

/// The share of the link that a flow uses, and the mean delay in the queue in milliseconds.
fn flow(algorithm: impl Algorithm) -> (f64, f64) {
    let (client_host, server_host) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut sim = Sim::new(7).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    let path = Path::new(Rate::fixed(1_500_000), Duration::from_millis(10));
    network.set_link_between(client_host, server_host, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(server_host, client_host, Link { delay: path.delay, ..Link::default() });
    network.emulate([(client_host, server_host)], Emulator::new(path.clone(), 7));
    sim.run(async move {
        let runtime = network.runtime();
        let listener = network.host(server_host).listen(Addr::Ip((server_host, 7).into())).await.unwrap();
        let client = network.host(client_host).connect(listener.local_addr()).await.unwrap();
        let client = Reliable::new().packet(PACKET).with(algorithm).wrap(client).await.unwrap();
        client.send(Buf::new(8, 0).unwrap()).await.unwrap();
        let server = Reliable::new().packet(PACKET).wrap(listener.accept().await.unwrap()).await.unwrap();
        let received = Arc::new(AtomicU64::new(0));
        let counter = Arc::clone(&received);
        let _receiving = runtime.spawn(async move {
            while let Ok(message) = server.recv().await {
                counter.fetch_add(message.len() as u64, Relaxed);
            }
        });
        let _sending =
            runtime.spawn(async move { while client.send(Buf::new(1_337, 0).unwrap()).await.is_ok() {} });
        // Slow start is left out.
        runtime.sleep(Duration::from_secs(1)).await;
        let before = received.load(Relaxed);
        let mut queueing = Duration::ZERO;
        let samples = 100 * (SECONDS - 1) as u32;
        for _ in 0..samples {
            runtime.sleep(Duration::from_millis(10)).await;
            queueing += network.queueing_delay(client_host, server_host);
        }
        let bytes = (received.load(Relaxed) - before) as f64;
        (bytes / (1_500_000 * (SECONDS - 1)) as f64, (queueing / samples).as_secs_f64() * 1e3)
    })
}

fn ours<A: CongAlg<bertha_ccp::AgentEnd> + Send + 'static>(algorithm: A) -> (f64, f64) {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
    let agent = agent.spawn_thread().run().unwrap();
    let seen = flow(ccp);
    stop(agent);
    seen
}

fn theirs<A: CongAlg<Socket<Blocking>> + Send + 'static>(algorithm: A) -> (f64, f64) {
    let (libccp, agent) = Libccp::with_agent(algorithm);
    let seen = flow(libccp);
    stop(agent);
    seen
}

#[test]
fn both_datapaths_use_and_queue_alike() {
    for (name, ours, theirs) in [
        ("Cubic", ours(algorithms::Cubic), theirs(algorithms::Cubic)),
        ("Copa", ours(algorithms::Copa), theirs(algorithms::Copa)),
    ] {
        println!("{name}: share and queue in ms: {ours:?}, with libccp {theirs:?}");
        for (share, queue) in [ours, theirs] {
            assert!(share > 0.85 && queue < 21.0, "{name}: {share} of the link, {queue} ms");
        }
        assert!((ours.0 - theirs.0).abs() < 0.1, "{name}: {ours:?} and {theirs:?}");
    }
}

/// The datapath of libccp, as a congestion control of `Reliable`.
struct Libccp {
    datapath: &'static Datapath,
    answers: Receiver<Vec<u8>>,
    /// The number of messages to the agent.
    reports: Arc<AtomicU64>,
}

impl Libccp {
    fn with_agent<A: CongAlg<Socket<Blocking>> + Send + 'static>(algorithm: A) -> (Self, CCPHandle) {
        let ((to_agent, at_agent), (from_agent, answers)) = (unbounded(), unbounded());
        let agent = BackendBuilder { sock: Socket::<Blocking>::new(from_agent, at_agent) };
        let agent = RunBuilder::new(agent).default_alg(algorithm).spawn_thread().run().unwrap();
        let reports = Arc::<AtomicU64>::default();
        let to_agent = ToAgent(to_agent, Arc::clone(&reports));
        // For as long as the process, since the control of a flow refers to it.
        let datapath =
            Box::leak(Box::new(DatapathBuilder::default().with_ops(to_agent).with_id(1).init().unwrap()));
        datapath.recv_msg(&mut answer(&answers)).unwrap();
        (Self { datapath, answers, reports }, agent)
    }
}

impl fmt::Debug for Libccp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Libccp")
    }
}

impl Algorithm for Libccp {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        let initial = 10 * packet as u32;
        let info = FlowInfo::default().with_init_cwnd(initial).with_mss(packet as u32);
        let connection =
            Connection::start(self.datapath, Decided { window: initial, rate: 0 }, info).unwrap();
        self.datapath.recv_msg(&mut answer(&self.answers)).unwrap();
        let (datapath, answers, reports) = (self.datapath, self.answers.clone(), Arc::clone(&self.reports));
        Box::new(Control { connection, datapath, answers, reports, start: None })
    }
}

struct Decided {
    window: u32,
    rate: u32,
}

impl CongestionOps for Decided {
    fn set_cwnd(&mut self, window: u32) {
        self.window = window;
    }

    fn set_rate_abs(&mut self, rate: u32) {
        self.rate = rate;
    }
}

struct Control {
    connection: Connection<'static, Decided>,
    datapath: &'static Datapath,
    answers: Receiver<Vec<u8>>,
    reports: Arc<AtomicU64>,
    /// The time at which the flow began.
    start: Option<Instant>,
}

impl fmt::Debug for Control {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Control")
    }
}

impl CongestionControl for Control {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        let start = *self.start.get_or_insert_with(|| Instant::now() - ack.now);
        std::thread::sleep(ack.now.saturating_sub(start.elapsed()));
        let (window, rate) = (self.connection.window, self.connection.rate);
        self.connection.load_primitives(
            Primitives::default()
                .with_bytes_acked(ack.bytes_acked as u32)
                .with_packets_acked(ack.packets_acked as u32)
                .with_bytes_misordered(ack.bytes_misordered as u32)
                .with_packets_misordered(ack.packets_misordered as u32)
                .with_lost_pkts_sample(ack.lost_pkts_sample as u32)
                .with_was_timeout(flow.was_timeout)
                .with_rtt_sample_us(flow.rtt_sample_us)
                .with_rate_outgoing(flow.rate_outgoing)
                .with_rate_incoming(flow.rate_incoming)
                .with_bytes_in_flight(flow.bytes_in_flight as u32)
                .with_packets_in_flight(flow.packets_in_flight as u32)
                .with_snd_cwnd(window)
                .with_snd_rate(rate.into()),
        );
        let before = self.reports.load(Relaxed);
        self.connection.invoke().unwrap();
        if self.reports.load(Relaxed) > before {
            self.datapath.recv_msg(&mut answer(&self.answers)).unwrap();
        }
    }

    fn window(&self) -> u64 {
        u64::from(self.connection.window).max(2 * PACKET as u64)
    }
}
