//! Copa beside a flow that fills the queue, and alone.

use crate::scene::{Agent, Seen, Sender, mean, path, run};
use bertha_ccp::algorithms::{Copa, Cubic};

const MEGABITS: f64 = 24.0;

/// The seconds in which Cubic sends, too.
const BESIDE: (u64, u64) = (10, 40);

/// Runs Copa for fifty seconds, with Cubic for a part of them. Both are algorithms of agents.
fn beside_cubic(copa: Copa, seed: u64) -> Seen {
    let (copa, cubic) = (Agent::of(copa), Agent::of(Cubic::default()));
    let senders = [Sender::new(1, copa.bulk()), Sender::new(2, cubic.bulk()).during(BESIDE.0, BESIDE.1)];
    run(&path(MEGABITS, 40, 1.0), &senders, 50, seed)
}

/// Returns the share of the link that a sender got beside the other sender.
fn share(seen: &Seen, sender: usize) -> f64 {
    mean(&seen.throughputs[sender], 20, 40) / MEGABITS
}

#[test]
fn it_gets_a_fair_share_beside_cubic_only_if_it_competes() {
    for seed in 1..=3 {
        let seen = beside_cubic(Copa::default(), seed);
        let (copa, cubic) = (share(&seen, 0), share(&seen, 1));
        let (alone, after) = (mean(&seen.queue, 5, 10), mean(&seen.queue, 45, 50));
        let short = share(&beside_cubic(Copa::without_competition(), seed), 0);
        println!("seed {seed}: Copa {copa:.3}, Cubic {cubic:.3}, {short:.3} without the mode");
        println!("seed {seed}: {alone:.1} ms in the queue before, and {after:.1} ms after");
        assert!(copa > 0.3 && cubic > 0.2, "seed {seed}: {copa:.3} and {cubic:.3} of the link");
        assert!(short < 0.1, "seed {seed}: {short:.3} of the link");
        // It returns to the default mode.
        assert!(alone < 5.0 && after < 5.0, "seed {seed}: {alone} ms, and {after} ms after");
    }
}

#[test]
fn alone_it_keeps_the_queue_as_short_as_without_the_mode() {
    for (megabits, round_trip_ms) in [(12.0, 20), (24.0, 40), (48.0, 20)] {
        let alone = |copa| {
            let agent = Agent::of(copa);
            let seen = run(&path(megabits, round_trip_ms, 2.0), &[Sender::new(1, agent.bulk())], 20, 1);
            // Slow start fills the queue, like another flow.
            (mean(&seen.throughputs[0], 5, 20) / megabits, mean(&seen.queue, 5, 20))
        };
        let (used, queue) = alone(Copa::default());
        let (_, shortest) = alone(Copa::without_competition());
        println!("{megabits} Mbit/s: {used:.3} of the link, {queue:.2} ms, {shortest:.2} without the mode");
        assert!(used > 0.95 && queue < 5.0, "{megabits} Mbit/s: {used:.3} of the link, {queue:.2} ms");
        // In the competitive mode, the queue would grow with each round trip.
        assert!((queue - shortest).abs() < 0.2, "{megabits} Mbit/s: {queue} ms, {shortest} without the mode");
    }
}
