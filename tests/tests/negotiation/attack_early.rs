//! First flights with an attacker between the two ends.

use crate::attacker::{Attacker, Habits};
use crate::early_scene::{connect, known, pause, with};
use crate::scene::{A, B, client, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Credentials, EarlyCache, Negotiate, Settings, SharedKey};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select as first_of};
use std::pin::pin;
use std::time::Duration;

fn settings(seed: u64) -> Settings {
    with(|settings| {
        settings.credentials = Credentials::shared(SharedKey::new([1; 32]));
        settings.unvalidated_clients = [256, 256, 1, 0][(seed / 4) as usize % 4];
        settings.first_flight = 1 + (seed / 16) as usize % 5;
    })
}

/// Sends some messages in a first flight or behind it. Returns the messages, and true if the server agreed.
async fn talk(network: &Network, cache: &EarlyCache, seed: u64, name: &str) -> (Vec<String>, bool) {
    let messages: Vec<String> = (0..6).map(|number| format!("{name} {number} of seed {seed}")).collect();
    let connecting = make_stack!(Serialize::<String>::new(), select!(A, B));
    // The port of the earlier connection, so that the attacker can replay the messages of that connection.
    let from = client(network).from_port(5000);
    let connection =
        connecting.connect(from, server_addr()).early(cache).settings(settings(seed)).await.unwrap();
    let mut is_good = true;
    for message in &messages {
        is_good &= connection.send(message.clone()).await.is_ok();
    }
    let agreed =
        match first_of(pin!(connection.agreed()), pin!(pause(network, Duration::from_secs(15)))).await {
            Either::Left((agreed, _)) => agreed,
            Either::Right(_) => panic!("seed {seed}: neither agreed nor failed"),
        };
    match agreed {
        Ok(_) => {
            let agreement = connection.explain();
            assert!(agreement.is_authenticated(), "seed {seed}");
            assert!(agreement.to_string().contains("A,"), "seed {seed}: {agreement}");
        }
        Err(error) => {
            let kinds =
                [ErrorKind::TimedOut, ErrorKind::Unauthenticated, ErrorKind::Reset, ErrorKind::Closed];
            assert!(kinds.contains(&error.kind()), "seed {seed}: {error}");
            is_good = false;
        }
    }
    let end = pin!(pause(network, Duration::from_secs(3)));
    first_of(pin!(async { while connection.recv().await.is_ok() {} }), end).await;
    (messages, is_good)
}

/// With a key, no message of a first flight is forged, edited or taken twice, whether the attacker replays it
/// while its connection is there or afterwards.
#[test]
fn nobody_without_a_key_says_early_messages_again_or_others() {
    let (mut made, mut runs) = (0, 0);
    with_seeds(2000, |seed| {
        runs += 1;
        made += u64::from(simulate(seed, async |network: Network| {
            network.answer_closed_ports(false);
            let stack = make_stack!(Serialize::<String>::new(), select!(A, B));
            let (cache, history) = known(&network, stack, [settings(seed), settings(seed)]).await;
            let attacker = Attacker::tap(&network, seed, Habits::of(seed));
            attacker.lock().unwrap().spare_data();
            // The attacker sees the first connection, and attacks the second with the messages of the first.
            let (seen, is_seen_good) = talk(&network, &cache, seed, "seen").await;
            assert!(is_seen_good, "seed {seed}");
            attacker.lock().unwrap().attack(true);
            let (attacked, is_good) = talk(&network, &cache, seed, "attacked").await;
            attacker.lock().unwrap().attack(false);
            pause(&network, Duration::from_secs(2)).await;
            let received = history.lock().unwrap().concat();
            for message in &received {
                assert!(seen.contains(message) || attacked.contains(message), "seed {seed}: {message}");
            }
            let of = |messages: &[String]| -> Vec<String> {
                received.iter().filter(|message| messages.contains(message)).cloned().collect()
            };
            assert_eq!(of(&seen), seen, "seed {seed}");
            // The server gets messages in order and once, and gets all messages if the ends agreed. There is
            // one exception: a client whose confirmations are all lost looks like a replay, so a busy server
            // builds no stack for the client and takes none of its messages, however often it asks for a
            // confirmation. The attacker only has to go on until the client leaves; this client takes itself
            // for connected, and leaves after three seconds. A server that is not busy takes the flight
            // before it asks.
            let received = of(&attacked);
            let is_busy = settings(seed).unvalidated_clients == 1;
            match (attacker.lock().unwrap().is_confirmation_lost(), is_good) {
                (true, _) if is_busy => assert_eq!(received, [""; 0], "seed {seed}"),
                (true, _) => assert!(attacked.starts_with(&received), "seed {seed}: {received:?}"),
                (false, true) => assert_eq!(received, attacked, "seed {seed}"),
                (false, false) => assert!(attacked.starts_with(&received), "seed {seed}: {received:?}"),
            }
            received == attacked
        }));
    });
    assert!(runs == 1 || made * 2 > runs, "{made} connections in {runs} runs");
}

/// Without a key the attacker may forge any message; the ends neither hang nor panic, and a new connection
/// works.
#[test]
fn without_a_key_an_attacker_on_first_flights_hangs_nobody() {
    with_seeds(1000, |seed| {
        simulate(seed, async |network: Network| {
            let open = || with(|settings| settings.first_flight = 1 + (seed / 2) as usize % 4);
            let stack = || make_stack!(Serialize::<String>::new(), select!(A, B));
            let (cache, _) = known(&network, stack(), [open(), open()]).await;
            let attacker = Attacker::tap(&network, seed, Habits::of(seed));
            attacker.lock().unwrap().attack(true);
            if let Ok(connection) = connect(&network, &cache, open()).await {
                for number in 0..4 {
                    let _ = connection.send(format!("{number}")).await;
                }
                let late = pin!(pause(&network, Duration::from_secs(15)));
                let is_decided = matches!(first_of(pin!(connection.agreed()), late).await, Either::Left(_));
                assert!(is_decided, "seed {seed}: neither agreed nor failed");
            }
            attacker.lock().unwrap().attack(false);
            let honest = connect(&network, &cache, open()).await.unwrap();
            honest.send("honest".into()).await.unwrap();
            assert_eq!(honest.recv().await.unwrap(), "honest", "seed {seed}");
        });
    });
}
