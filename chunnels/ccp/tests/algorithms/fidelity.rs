//! The same algorithm in the datapath and by an agent, where losses come by chance and the buffer is unlimited.

use crate::scene::{Agent, SAMPLE, Sender, Traffic, path, run};
use bertha_ccp::algorithms;
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Cubic, NewReno};
use bertha_datapath_sim::Path;

/// Returns the medians of throughput and delay over forty seconds. The first twenty seconds are left out: the
/// buffer is unlimited, so that the queue of a slow start lasts for so long, and an agent's window doubles
/// each round trip instead of each acknowledgement.
fn medians(traffic: Traffic, seed: u64) -> [f64; 2] {
    let path = Path { loss: 0.000_4, buffer: u64::MAX, ..path(24.0, 20, 1.0) };
    let seen = run(&path, &[Sender::new(1, traffic)], 60, seed);
    [&seen.throughputs[0], &seen.queue].map(|samples| {
        let mut late = samples[200..].to_vec();
        late.sort_by(f64::total_cmp);
        late[late.len() / 2]
    })
}

#[test]
fn an_agent_does_what_the_datapath_does() {
    for seed in 1..=2 {
        let in_datapath = |stack: Reliable| medians(Traffic::Bulk(stack), seed);
        for (name, datapath, agent) in [
            (
                "NewReno",
                in_datapath(Reliable::new().with(NewReno)),
                medians(Agent::of(algorithms::NewReno).bulk(), seed),
            ),
            (
                "Cubic",
                in_datapath(Reliable::new().with(Cubic)),
                medians(Agent::of(algorithms::Cubic::default()).bulk(), seed),
            ),
        ] {
            println!(
                "seed {seed}, {name}: Mbit/s and ms in the datapath {datapath:?}, by the agent {agent:?}"
            );
            let ratio = agent[0] / datapath[0];
            assert!((0.95..1.05).contains(&ratio), "seed {seed}, {name}: {ratio} of the throughput");
            // A packet takes 0.45 milliseconds.
            let more = agent[1] - datapath[1];
            assert!(
                more.abs() < (0.05 * datapath[1]).max(0.45),
                "seed {seed}, {name}: {more} ms more in the queue"
            );
        }
    }
}

/// Returns the time until most of a path of 48 Mbit/s and 100 ms is used.
fn until_full(traffic: Traffic) -> f64 {
    let seen = run(&path(48.0, 100, 2.0), &[Sender::new(1, traffic)], 3, 1);
    let full = seen.throughputs[0].iter().position(|rate| *rate >= 0.9 * 48.0);
    (full.unwrap() + 1) as f64 * SAMPLE.as_secs_f64()
}

#[test]
fn an_agent_fills_a_path_at_most_two_round_trips_later() {
    let in_datapath = until_full(Traffic::Bulk(Reliable::new().with(NewReno)));
    for (name, agent) in [
        ("NewReno", until_full(Agent::of(algorithms::NewReno).bulk())),
        ("Cubic", until_full(Agent::of(algorithms::Cubic::default()).bulk())),
    ] {
        println!("{name}: {in_datapath} s in the datapath, {agent} s by the agent");
        assert!(agent <= in_datapath + 0.201, "{name}: {agent} s, and {in_datapath} s in the datapath");
    }
}
