//! An algorithm of portus drives a flow of `bertha-ccp`, and a flow of a datapath built on libccp, to equal
//! windows.

mod over_a_link;

use bertha_against_libccp::{ToAgent, answer, stop};
use bertha_ccp::{Ccp, Pace, algorithms};
use bertha_chunnels::congestion::{Ack, Algorithm, Flow};
use crossbeam::channel::unbounded;
use libccp::{CongestionOps, Connection, DatapathBuilder, FlowInfo, Primitives};
use portus::RunBuilder;
use portus::ipc::chan::Socket;
use portus::ipc::{BackendBuilder, Blocking};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const PACKET: u32 = 1_352;

/// The window of ten packets, as initial windows are.
const INITIAL: u32 = 13_520;

/// Returns the losses of each acknowledgement. The acknowledgements are alike, but for losses now and then. A
/// round trip is a microsecond, so each acknowledgement ends a round trip.
fn losses() -> impl Iterator<Item = u32> {
    (0..200).map(|at| if at % 37 == 36 { 2 } else { 0 })
}

fn ours() -> Vec<u64> {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithms::NewReno);
    let agent = agent.spawn_thread().run().unwrap();
    let mut control = ccp.start(u64::from(PACKET));
    let windows = losses().enumerate().map(|(at, lost)| {
        let ack = Ack {
            bytes_acked: u64::from(PACKET),
            packets_acked: 1,
            lost_pkts_sample: u64::from(lost),
            now: Duration::from_micros(100 * (at as u64 + 1)),
            ..Ack::default()
        };
        let flow = Flow { rtt_sample_us: 1, bytes_in_flight: control.window(), ..Flow::default() };
        control.on_ack(&ack, &flow);
        control.window()
    });
    let windows = windows.collect();
    stop(agent);
    windows
}

struct Window(u32);

impl CongestionOps for Window {
    fn set_cwnd(&mut self, window: u32) {
        self.0 = window;
    }

    fn set_rate_abs(&mut self, _: u32) {}
}

fn theirs() -> Vec<u64> {
    let ((to_agent, at_agent), (from_agent, answers)) = (unbounded(), unbounded());
    let agent = BackendBuilder { sock: Socket::<Blocking>::new(from_agent, at_agent) };
    let agent = RunBuilder::new(agent).default_alg(algorithms::NewReno).spawn_thread().run().unwrap();
    let count = Arc::<AtomicU64>::default();
    let to_agent = ToAgent(to_agent, count.clone());
    let datapath = DatapathBuilder::default().with_ops(to_agent).with_id(1).init().unwrap();
    datapath.recv_msg(&mut answer(&answers)).unwrap();
    let flow = FlowInfo::default().with_init_cwnd(INITIAL).with_mss(PACKET);
    let mut connection = Connection::start(&datapath, Window(INITIAL), flow).unwrap();
    datapath.recv_msg(&mut answer(&answers)).unwrap();
    let mut windows = Vec::new();
    for lost in losses() {
        // The pause is longer than a round trip.
        std::thread::sleep(Duration::from_micros(5));
        connection.load_primitives(
            Primitives::default()
                .with_bytes_acked(PACKET)
                .with_packets_acked(1)
                .with_lost_pkts_sample(lost)
                .with_rtt_sample_us(1)
                .with_bytes_in_flight(connection.0)
                .with_snd_cwnd(connection.0),
        );
        let before = count.load(Relaxed);
        connection.invoke().unwrap();
        windows.push(u64::from(connection.0));
        if count.load(Relaxed) > before {
            datapath.recv_msg(&mut answer(&answers)).unwrap();
        }
    }
    drop(connection);
    stop(agent);
    windows
}

#[test]
fn one_algorithm_drives_both_to_the_same_windows() {
    let (ours, theirs) = (ours(), theirs());
    assert!(ours.iter().any(|window| *window > 60_000), "slow start: {ours:?}");
    assert!(ours.windows(2).any(|two| two[1] < two[0]), "a loss: {ours:?}");
    // libccp reads the machine's clock, so a recovery ends a little earlier or later in a round trip. The
    // windows differ by a byte or two, and the next reduction halves the difference.
    let is_near = |(ours, theirs): (&u64, &u64)| ours.abs_diff(*theirs) <= 4;
    assert_eq!(ours.len(), theirs.len());
    assert!(ours.iter().zip(&theirs).all(is_near), "ours: {ours:?}\ntheirs: {theirs:?}");
}
