//! Cubic and Copa over a link of 12 Mbit/s and 20 ms (figure 4.11 of the thesis): by the datapath of this repository, and by libccp's.

use bertha_against_libccp::{Libccp, flow, stop};
use bertha_ccp::{Ccp, Pace, algorithms};
use bertha_chunnels::congestion::Algorithm;
use portus::ipc::chan::Socket;
use portus::ipc::{BackendBuilder, Blocking};
use portus::{CongAlg, RunBuilder};

/// Rate of the link, in bytes per second.
const RATE: u64 = 1_500_000;
const SECONDS: u64 = 4;

/// Returns the share of the link that a flow uses, and the mean delay in the queue in milliseconds.
fn share_and_queue(algorithm: impl Algorithm) -> (f64, f64) {
    // Slow start is left out.
    let samples = &flow(algorithm, RATE, SECONDS)[99..];
    let [first, .., last] = samples else { panic!("{} samples", samples.len()) };
    let queue = samples.iter().map(|sample| sample.queue).sum::<f64>() / samples.len() as f64;
    ((last.received - first.received) as f64 / (last.at - first.at) / RATE as f64, queue)
}

fn ours<A: CongAlg<bertha_ccp::AgentEnd> + Send + 'static>(algorithm: A) -> (f64, f64) {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
    let agent = agent.spawn_thread().run().unwrap();
    let seen = share_and_queue(ccp);
    stop(agent);
    seen
}

fn theirs<A: CongAlg<Socket<Blocking>> + Send + 'static>(algorithm: A) -> (f64, f64) {
    let (libccp, agent) = Libccp::with_agent(algorithm);
    let seen = share_and_queue(libccp);
    stop(agent);
    seen
}

#[test]
fn both_datapaths_use_and_queue_alike() {
    for (name, ours, theirs) in [
        ("Cubic", ours(algorithms::Cubic::default()), theirs(algorithms::Cubic::default())),
        (
            "Copa",
            ours(algorithms::Copa::without_competition()),
            theirs(algorithms::Copa::without_competition()),
        ),
    ] {
        println!("{name}: share and queue in ms: {ours:?}, with libccp {theirs:?}");
        for (share, queue) in [ours, theirs] {
            assert!(share > 0.85 && queue < 21.0, "{name}: {share} of the link, {queue} ms");
        }
        assert!((ours.0 - theirs.0).abs() < 0.1, "{name}: {ours:?} and {theirs:?}");
    }
}
