//! Flows that share one window.

use crate::scene::{Agent, Sender, mean, path, run};
use bertha_ccp::algorithms::{Grouping, NewReno, SharedWindow};

const MEGABITS: f64 = 24.0;

/// Returns the share of one flow on host 1 beside four flows on host 2, by the algorithm that the agent runs.
fn share_beside_four(agent: &Agent, seed: u64) -> f64 {
    let alone = Agent::of(NewReno);
    let mut senders = vec![Sender::new(1, alone.bulk())];
    senders.extend((0..4).map(|_| Sender::new(2, agent.bulk())));
    let seen = run(&path(MEGABITS, 40, 1.0), &senders, 60, seed);
    let rates: Vec<f64> = seen.throughputs.iter().map(|samples| mean(samples, 20, 60)).collect();
    println!("seed {seed}: {rates:?}");
    rates[0] / rates.iter().sum::<f64>()
}

#[test]
fn an_aggregate_takes_the_share_of_one_flow() {
    for seed in 1..=2 {
        let shared = share_beside_four(&Agent::aggregated(SharedWindow::newreno(Grouping::Host)), seed);
        let each = share_beside_four(&Agent::of(NewReno), seed);
        assert!((0.35..0.65).contains(&shared), "seed {seed}: {shared:.3} beside an aggregate");
        assert!(each < 0.3, "seed {seed}: {each:.3} beside four flows");
    }
}

#[test]
fn the_flows_of_an_aggregate_have_equal_parts() {
    let agent = Agent::aggregated(SharedWindow::cubic(Grouping::Pair));
    let senders: Vec<_> = (0..5).map(|_| Sender::new(1, agent.bulk())).collect();
    let seen = run(&path(MEGABITS, 40, 1.0), &senders, 20, 3);
    let rates: Vec<f64> = seen.throughputs.iter().map(|samples| mean(samples, 5, 20)).collect();
    println!("{rates:?}");
    assert!(rates.iter().sum::<f64>() > 0.9 * MEGABITS, "{rates:?}");
    assert!(rates.iter().all(|rate| (0.18..0.22).contains(&(rate / MEGABITS))), "{rates:?}");
}

#[test]
fn a_flow_that_joins_has_its_part_at_once_and_returns_it() {
    let senders = |agent: &Agent| {
        [Sender::new(1, agent.bulk()).during(0, 30), Sender::new(1, agent.bulk()).during(10, 20)]
    };
    let path = path(MEGABITS, 100, 1.0);
    let agent = Agent::aggregated(SharedWindow::newreno(Grouping::Host));
    let seen = run(&path, &senders(&agent), 30, 4);
    // Round trips take a tenth of a second, and two tenths with the queue. A slow start would take five round
    // trips.
    let (first, second) = (seen.windows[0][105], seen.windows[1][105]);
    println!("{first} and {second} packets, half a second after the second joined");
    assert!(first > 50.0 && (first / second - 1.0).abs() < 0.05, "{first} and {second} packets");
    // The flow does not overflow the queue either.
    let dropped = seen.dropped[119] - seen.dropped[100];
    assert!(dropped <= 10, "{dropped} packets were dropped");
    let (during, after) = (seen.windows[0][195], seen.windows[0][205]);
    assert!(after > 1.7 * during, "{during} packets, and {after} after the other left");

    let agent = Agent::of(NewReno);
    let seen = run(&path, &senders(&agent), 30, 4);
    let (first, second) = (seen.windows[0][105], seen.windows[1][105]);
    assert!(
        second < 0.7 * first || seen.dropped[119] - seen.dropped[100] > 10,
        "{first} and {second} packets"
    );
}

#[test]
fn a_flow_that_is_idle_keeps_nothing_from_the_others() {
    let agent = Agent::aggregated(SharedWindow::newreno(Grouping::Host));
    let senders = [Sender::new(1, agent.bulk()), Sender::new(1, agent.idle())];
    let seen = run(&path(MEGABITS, 40, 1.0), &senders, 20, 5);
    let rate = mean(&seen.throughputs[0], 10, 20);
    assert!(rate > 0.9 * MEGABITS, "{rate} of {MEGABITS} Mbit/s");
}
