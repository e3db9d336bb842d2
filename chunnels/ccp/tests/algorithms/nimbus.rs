//! Nimbus beside cross traffic of both kinds.

use crate::scene::{Agent, Sender, Traffic, mean, path, run};
use bertha_ccp::algorithms::Nimbus;
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::Cubic;

const MEGABITS: f64 = 24.0;

#[test]
fn it_competes_with_cubic_and_keeps_the_queue_short_alone() {
    // With seeds 2 and 6, its rate is soon too low for pulses that show a response.
    for seed in [1, 2, 6] {
        let agent = Agent::of(Nimbus);
        let cubic = Traffic::Bulk(Reliable::new().with(Cubic));
        let senders = [Sender::new(1, agent.bulk()), Sender::new(2, cubic).during(20, 50)];
        let seen = run(&path(MEGABITS, 40, 1.0), &senders, 70, seed);
        let alone = (mean(&seen.throughputs[0], 10, 20), mean(&seen.queue, 10, 20));
        let beside = (mean(&seen.throughputs[0], 30, 50), mean(&seen.throughputs[1], 30, 50));
        let after = (mean(&seen.throughputs[0], 60, 70), mean(&seen.queue, 60, 70));
        println!("seed {seed}: alone {alone:?}, beside {beside:?}, after {after:?}");
        assert!(alone.0 > 0.9 * MEGABITS && alone.1 < 20.0, "seed {seed}: alone {alone:?}");
        assert!(beside.0 > 0.3 * MEGABITS && beside.1 > 0.3 * MEGABITS, "seed {seed}: beside {beside:?}");
        assert!(after.0 > 0.9 * MEGABITS && after.1 < 20.0, "seed {seed}: after {after:?}");
    }
}

#[test]
fn it_keeps_the_queue_short_beside_traffic_that_does_not_react() {
    for seed in 1..=2 {
        let agent = Agent::of(Nimbus);
        let udp = Traffic::Constant((MEGABITS / 2.0 * 1e6 / 8.0) as u64);
        let senders = [Sender::new(1, agent.bulk()), Sender::new(2, udp).during(15, 60)];
        let seen = run(&path(MEGABITS, 40, 1.0), &senders, 40, seed);
        let beside = (mean(&seen.throughputs[0], 25, 40), mean(&seen.queue, 25, 40));
        println!("seed {seed}: {beside:?}");
        assert!(beside.0 > 0.4 * MEGABITS, "seed {seed}: {beside:?}");
        assert!(beside.1 < 20.0, "seed {seed}: {beside:?}");
    }
}
