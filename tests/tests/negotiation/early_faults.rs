//! First flights over networks that lose, repeat and reorder messages, with histories of received messages.

use crate::early_scene::{History, connect, known, learn, serve, with};
use crate::scene::{A, B, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, Runtime, make_stack, select};
use bertha_datapath_sim::{Datagram, Link, Network, Verdict};
use bertha_negotiation::testing::wire::{self, Kind};
use bertha_negotiation::{Credentials, Settings, SharedKey};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::Mutex;
use std::time::Duration;

/// Loses, repeats, delays and damages `percent` percent each of the messages that are not data.
fn torment(network: &Network, seed: u64, percent: u64) {
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut roll = move |bound: u64| {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        (dice >> 11) % bound
    };
    let (tapped, held) = (network.clone(), Mutex::new(Vec::<Datagram>::new()));
    network.tap(move |datagram| {
        if datagram.payload.first() == Some(&(Kind::Data as u8)) {
            return Verdict::Pass;
        }
        if let Some((answer, data)) = wire::parts(&datagram.payload).filter(|_| roll(2) == 0) {
            // Only the negotiation's part of the message suffers.
            tapped.inject(&Datagram { payload: data.to_vec(), ..datagram.clone() }).unwrap();
            datagram.payload = answer.to_vec();
        }
        let mut held = held.lock().unwrap();
        if roll(100) < percent {
            tapped.inject(datagram).unwrap();
        }
        if roll(100) < percent && !held.is_empty() {
            let at = roll(held.len() as u64) as usize;
            tapped.inject(&held.swap_remove(at)).unwrap();
        }
        if roll(100) < percent {
            held.push(datagram.clone());
        }
        if roll(100) < percent {
            return Verdict::Drop;
        }
        if roll(100) < percent {
            let at = roll(datagram.payload.len() as u64) as usize;
            datagram.payload[at] ^= 1 << roll(8);
        }
        Verdict::Pass
    });
}

fn settings(seed: u64) -> Settings {
    with(|settings| {
        settings.unvalidated_clients = [256, 256, 1, 0][(seed / 4) as usize % 4];
        settings.first_flight = 1 + (seed / 16) as usize % 5;
        if seed / 2 % 2 == 1 {
            settings.credentials = Credentials::shared(SharedKey::new([1; 32]));
        }
    })
}

fn cancelled(seed: u64) -> String {
    format!("cancelled {seed} {}", "x".repeat(9000))
}

/// Has a client talk over `link` once it knows the server. Returns true if all its calls succeeded, with its
/// messages and the server's history.
async fn talk(network: &Network, seed: u64, link: Link, percent: u64) -> (bool, Vec<String>, History) {
    let stack = make_stack!(Serialize::<String>::new(), select!(A, B));
    let both = [settings(seed), settings(seed)];
    let (cache, history) = match seed % 2 {
        0 => known(network, stack, both).await,
        _ => {
            let cache = learn(network, stack, both).await;
            (cache, serve(network, make_stack!(Serialize::<String>::new(), B), settings(seed)).await)
        }
    };
    network.set_link(link);
    torment(network, seed, percent);
    let connection = connect(network, &cache, settings(seed)).await.unwrap();
    let messages: Vec<String> = (0..10).map(|number| format!("{seed}-{number}")).collect();
    let mut is_good = true;
    for (number, message) in messages.iter().enumerate() {
        if number as u64 == seed % 7 {
            // The message is too long for the first flight, and its future is dropped: the message may have
            // been sent or not.
            let sending = pin!(connection.send(cancelled(seed)));
            let soon = pin!(network.runtime().sleep_until(network.runtime().now()));
            drop(select(sending, soon).await);
        }
        is_good &= connection.send(message.clone()).await.is_ok();
    }
    let runtime = network.runtime();
    let late = pin!(runtime.sleep_until(runtime.now() + Duration::from_secs(15)));
    match select(pin!(connection.agreed()), late).await {
        Either::Left((agreed, _)) => is_good &= agreed.is_ok(),
        Either::Right(_) => panic!("seed {seed}: neither agreed nor failed"),
    }
    // Receiving also repeats lost messages of the handshake.
    let end = pin!(runtime.sleep_until(runtime.now() + Duration::from_secs(12)));
    select(pin!(async { while connection.recv().await.is_ok() {} }), end).await;
    (is_good, messages, history)
}

/// Only the negotiation's own messages suffer, so lost data was lost by the negotiation.
#[test]
fn nothing_is_lost_or_received_twice_or_out_of_order() {
    let (mut failed, mut played) = (0, 0);
    with_seeds(3000, |seed| {
        played += 1;
        simulate(seed, async |network: Network| {
            let (is_good, messages, history) = talk(&network, seed, Link::default(), 15).await;
            let mut all = history.lock().unwrap().concat();
            let cancelled = cancelled(seed);
            assert!(all.iter().filter(|it| **it == cancelled).count() <= 1, "seed {seed}: {all:?}");
            all.retain(|message| *message != cancelled);
            if is_good {
                assert_eq!(all, messages, "seed {seed}");
            } else {
                failed += 1;
                all.dedup();
                assert!(messages.starts_with(&all), "seed {seed}: {all:?}");
            }
        });
    });
    assert!(failed * 50 <= played.max(50), "{failed} of {played} did not connect");
}

/// The network loses data too.
#[test]
fn over_a_network_that_loses_data_nothing_comes_twice() {
    with_seeds(1000, |seed| {
        simulate(seed, async |network: Network| {
            let lossy = Link { loss: 0.2, ..Link::default() };
            let (_, messages, history) = talk(&network, seed, lossy, 10).await;
            let all = history.lock().unwrap().concat();
            for message in &messages {
                let count = all.iter().filter(|it| *it == message).count();
                assert!(count <= 1, "seed {seed}: {message} came {count} times");
            }
        });
    });
}
