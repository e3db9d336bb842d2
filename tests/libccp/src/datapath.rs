//! libccp's datapath for flows of `Reliable`.

use crate::agent::{ToAgent, answer};
use crate::flow::PACKET;
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow};
use crossbeam::channel::{Receiver, unbounded};
use libccp::{CongestionOps, Connection, Datapath, DatapathBuilder, FlowInfo, Primitives};
use portus::ipc::chan::Socket;
use portus::ipc::{BackendBuilder, Blocking};
use portus::{CCPHandle, CongAlg, RunBuilder};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The datapath of libccp, as a congestion control of `Reliable`.
///
/// libccp reads the system's clock, so a simulation waits for the clock at each acknowledgement.
pub struct Libccp {
    datapath: &'static Datapath,
    answers: Receiver<Vec<u8>>,
    /// Number of messages to the agent.
    reports: Arc<AtomicU64>,
}

impl Libccp {
    /// Makes the datapath, with an agent on a thread of its own.
    pub fn with_agent<A: CongAlg<Socket<Blocking>> + Send + 'static>(algorithm: A) -> (Self, CCPHandle) {
        let ((to_agent, at_agent), (from_agent, answers)) = (unbounded(), unbounded());
        let agent = BackendBuilder { sock: Socket::<Blocking>::new(from_agent, at_agent) };
        let agent = RunBuilder::new(agent).default_alg(algorithm).spawn_thread().run().unwrap();
        let reports = Arc::<AtomicU64>::default();
        let to_agent = ToAgent(to_agent, Arc::clone(&reports));
        // The datapath lives as long as the process, since the control of a flow refers to it.
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
    /// Time at which the flow began.
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
