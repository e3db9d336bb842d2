//! The faults that datagrams meet, which a seed reproduces.

use crate::wire::{self, CLIENT, SERVER, arrived, connected, message, number, run, send};
use bertha_core::{Connection, Runtime};
use bertha_datapath_sim::{Bottleneck, Datagram, Link, Network, Sim, Verdict};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const COUNT: u64 = 1000;
const WHILE: Duration = Duration::from_secs(1);

/// Returns the datagrams that arrive out of a thousand over `link`.
async fn through(network: &Network, link: Link) -> Vec<u64> {
    let (client, accepted, _listener) = connected(network, |host| host).await;
    network.set_link_between(CLIENT, SERVER, link);
    send(&client, 0..COUNT).await.unwrap();
    network.runtime().sleep(WHILE).await;
    arrived(&accepted)
}

fn sorted(mut numbers: Vec<u64>) -> Vec<u64> {
    numbers.sort_unstable();
    numbers
}

#[test]
fn without_faults_everything_arrives_in_order_after_the_delay() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        let before = network.runtime().elapsed();
        client.send(message(1)).await.unwrap();
        accepted.recv().await.unwrap();
        assert_eq!(network.runtime().elapsed() - before, Link::default().delay);
        send(&client, 0..COUNT).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(arrived(&accepted), Vec::from_iter(0..COUNT));
    });
}

#[test]
fn loss_takes_its_share() {
    run(1, async |network| {
        let got = through(&network, Link { loss: 0.2, ..Link::default() }).await;
        assert!(got.is_sorted() && (700..900).contains(&got.len()), "{} of 1000 arrived", got.len());
        assert_eq!(network.counters().lost, COUNT - got.len() as u64);
    });
}

#[test]
fn duplicates_arrive_besides() {
    run(1, async |network| {
        let link = Link { duplication: 0.02, ..Link::default() };
        let mut got = sorted(through(&network, link).await);
        let copies = network.counters().duplicated;
        assert!((5..24).contains(&copies), "{copies} of 1000 twice");
        assert_eq!(got.len() as u64, COUNT + copies);
        got.dedup();
        assert_eq!(got, Vec::from_iter(0..COUNT));
    });
}

#[test]
fn reordering_changes_the_order_alone() {
    run(1, async |network| {
        let got = through(&network, Link { reordering: 0.1, ..Link::default() }).await;
        let count = network.counters().reordered;
        assert!((50..150).contains(&count), "{count} of 1000 on a detour");
        assert!(!got.is_sorted());
        assert_eq!(sorted(got), Vec::from_iter(0..COUNT));
    });
}

#[test]
fn jitter_spreads_arrivals() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        network.set_link(Link { jitter: Duration::from_millis(5), ..Link::default() });
        send(&client, 0..100).await.unwrap();
        let start = network.runtime().now();
        let mut last = start;
        for _ in 0..100 {
            accepted.recv().await.unwrap();
            last = network.runtime().now();
        }
        assert!((last - start) > Duration::from_millis(4) && (last - start) < Duration::from_micros(5_101));
    });
}

#[test]
fn corruption_flips_bits_and_cuts_short() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        network.set_link(Link { corruption: 0.5, ..Link::default() });
        for _ in 0..COUNT {
            client.send(message(0)).await.unwrap();
        }
        network.runtime().sleep(WHILE).await;
        let mut messages = Vec::<bertha_core::Buf>::new();
        accepted.recv_batch(&mut messages, usize::MAX).await.unwrap();
        assert_eq!(messages.len() as u64, COUNT);
        let short = messages.iter().filter(|message| message.len() < 8).count();
        let flipped = messages.iter().filter(|message| message.len() == 8 && number(message) != 0).count();
        assert!(short > 50 && flipped > 200, "{short} short, {flipped} flipped");
        // Two flips can hit a common bit.
        assert!((short + flipped) as u64 <= network.counters().corrupted);
    });
}

#[test]
fn cuts_are_per_direction_and_heal() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        network.cut_one_way(CLIENT, SERVER);
        client.send(message(1)).await.unwrap();
        accepted.send(message(2)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!((arrived(&accepted), arrived(&client)), (vec![], vec![2]));
        network.cut(SERVER, CLIENT);
        accepted.send(message(3)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert!(arrived(&client).is_empty());
        network.heal(CLIENT, SERVER);
        client.send(message(4)).await.unwrap();
        accepted.send(message(5)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!((arrived(&accepted), arrived(&client)), (vec![4], vec![5]));
        assert_eq!(network.counters().cut, 2);
        network.cut(CLIENT, SERVER);
        network.heal_all();
        client.send(message(6)).await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 6);
    });
}

#[test]
fn a_tap_sees_edits_drops_and_injects() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        let seen = Arc::new(AtomicUsize::new(0));
        let (wire, count) = (network.clone(), seen.clone());
        network.tap(move |datagram: &mut Datagram| {
            count.fetch_add(1, Ordering::Relaxed);
            match datagram.payload[7] {
                1 => return Verdict::Drop,
                2 => datagram.payload[7] = 20,
                3 => wire.inject(datagram).unwrap(),
                _ => {}
            }
            Verdict::Pass
        });
        send(&client, 1..5).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(sorted(arrived(&accepted)), [3, 3, 4, 20]);
        let counters = network.counters();
        assert_eq!((seen.load(Ordering::Relaxed), counters.tapped, counters.injected), (4, 1, 1));
        network.untap();
        client.send(message(1)).await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 1);
    });
}

/// Runs a chat between two ends over a poor network, and returns the trace of its run.
fn chat(seed: u64) -> u64 {
    let mut sim = Sim::new(seed);
    let network = sim.network().clone();
    let runtime = sim.runtime();
    sim.run(async {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        network.set_link(Link { corruption: 0.1, ..Link::poor(0.2) });
        let echo = runtime.spawn(async move {
            while let Ok(message) = accepted.recv().await {
                if accepted.send(message).await.is_err() {
                    break;
                }
            }
        });
        for number in 0..50 {
            client.send(message(number ^ runtime.random())).await.unwrap();
            runtime.sleep(Duration::from_micros(50)).await;
        }
        drop(echo);
    });
    sim.trace()
}

#[test]
fn a_seed_repeats_its_course() {
    for seed in 0..100 {
        assert_eq!(chat(seed), chat(seed), "seed {seed} took two courses");
    }
    let courses: std::collections::BTreeSet<_> = (0..100).map(chat).collect();
    assert_eq!(courses.len(), 100);
}

#[test]
fn a_bottleneck_keeps_its_rate_and_drops_what_it_has_no_room_for() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        let len = message(0).len() as u64;
        // The link carries a hundred messages per second, of which ten wait.
        let bottleneck = Bottleneck { rate: 100 * len, queue: 10 * len };
        network.set_link_between(CLIENT, SERVER, Link { bottleneck: Some(bottleneck), ..Link::default() });
        let start = network.runtime().elapsed();
        send(&client, 0..25).await.unwrap();
        assert_eq!(network.queueing_delay(CLIENT, SERVER), Duration::from_millis(100));
        assert_eq!(network.counters().queue_full, 15);
        for number in 0..10_u32 {
            assert_eq!(wire::number(&accepted.recv().await.unwrap()), u64::from(number));
            let passed = network.runtime().elapsed() - start;
            assert_eq!(passed, Duration::from_millis(10) * (number + 1) + Link::default().delay);
        }
        assert_eq!(network.queueing_delay(CLIENT, SERVER), Duration::ZERO);
        client.send(message(25)).await.unwrap();
        assert_eq!(wire::number(&accepted.recv().await.unwrap()), 25);
    });
}
