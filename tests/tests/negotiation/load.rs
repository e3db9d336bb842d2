//! A server under load, which asks clients for cookies.

use crate::scene::{A, B, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Connection, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::{Datagram, Link, Network, Verdict};
use bertha_negotiation::testing::wire::{self, Kind, Offer, Tag};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Settings, SharedKey};
use futures_util::future::{Either, select};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn with(change: impl FnOnce(&mut Settings)) -> Settings {
    let mut settings = Settings::default();
    change(&mut settings);
    settings
}

/// Counts the messages on the network, by kind.
fn count(network: &Network) -> Arc<Mutex<BTreeMap<u8, usize>>> {
    let counts = Arc::new(Mutex::new(BTreeMap::new()));
    let count = counts.clone();
    network.tap(move |datagram| {
        *count.lock().unwrap().entry(datagram.payload[0]).or_default() += 1;
        Verdict::Pass
    });
    counts
}

fn credentials() -> [Credentials; 2] {
    [Credentials::default(), Credentials::shared(SharedKey::new([1; 32]))]
}

#[test]
fn a_client_returns_the_cookie_that_it_is_asked_for() {
    for credentials in credentials() {
        simulate(1, async |network: Network| {
            let counts = count(&network);
            let always = with(|settings| {
                settings.unvalidated_clients = 0;
                settings.credentials = credentials.clone();
            });
            let incoming =
                make_stack!(A).listen(server(&network), server_addr()).settings(always).await.unwrap();
            echo(&network, incoming, |error| panic!("{error}"));
            let ours = with(|settings| settings.credentials = credentials);
            let stack = make_stack!(A);
            let before = network.runtime().now();
            let connection = stack.connect(client(&network), server_addr()).settings(ours).await.unwrap();
            let trips = (network.runtime().now() - before).as_micros() / 200;
            assert_eq!(trips, 2, "two round trips");
            connection.send(bytes(b"hello")).await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *b"hello");
            let counts = counts.lock().unwrap();
            let [offers, answers, retries, returned] =
                [Kind::Offer, Kind::Answer, Kind::Retry, Kind::Returned].map(|kind| counts[&(kind as u8)]);
            assert_eq!((offers, answers, retries, returned), (1, 1, 1, 1));
        });
    }
}

#[test]
fn without_load_nothing_is_asked() {
    simulate(2, async |network: Network| {
        let counts = count(&network);
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let mut held = Vec::new();
        for _ in 0..100 {
            held.push(make_stack!(A).connect(client(&network), server_addr()).await.unwrap());
        }
        let counts = counts.lock().unwrap();
        // Each client confirms its address, and no client waits for the confirmation.
        assert_eq!((counts[&1], counts[&2], counts[&8], counts.len()), (100, 100, 100, 3), "{counts:?}");
    });
}

#[test]
fn cookies_survive_a_poor_network() {
    for seed in 0..300 {
        simulate(seed, async |network: Network| {
            network.set_link(Link { corruption: 0.05, ..Link::poor(0.2) });
            let always = with(|settings| settings.unvalidated_clients = 0);
            let incoming =
                make_stack!(A).listen(server(&network), server_addr()).settings(always).await.unwrap();
            echo(&network, incoming, |error| panic!("{error}"));
            // Two exchanges have to succeed, each with some 40 % loss. The default ten seconds have room for
            // seven attempts, which all fail about once in 400 times; a minute has room for ten.
            let patient = with(|settings| settings.handshake_timeout = Duration::from_secs(60));
            let connected = make_stack!(A).connect(client(&network), server_addr()).settings(patient).await;
            connected.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        });
    }
}

/// Makes an offer from an address that no host has.
fn spoofed(number: u32, offer: &[u8]) -> Datagram {
    let [.., a, b, c] = number.to_be_bytes();
    let from = SocketAddr::from(([100, a, b, c], 1000));
    Datagram { from, to: server_addr().ip("load").unwrap(), payload: offer.to_vec() }
}

fn offer(id: u64) -> Vec<u8> {
    let nodes = bertha_core::Describe::nodes(&make_stack!(A));
    wire::encode(Kind::Offer, Tag::of(id), &Offer::new(id, &nodes).unwrap()).unwrap()
}

/// An attacker sends twenty thousand offers from forged addresses. The server believes a bounded number of
/// them, and serves the clients that can be reached.
#[test]
fn spoofed_offers_fill_neither_memory_nor_the_door() {
    for credentials in credentials() {
        simulate(3, async |network: Network| {
            network.answer_closed_ports(false);
            let settings = || with(|settings| settings.credentials = credentials.clone());
            let incoming =
                make_stack!(A).listen(server(&network), server_addr()).settings(settings()).await.unwrap();
            let mut incoming = incoming;
            let (held, runtime) = (Arc::new(Mutex::new(Vec::new())), network.runtime().clone());
            let hold = held.clone();
            std::mem::forget(runtime.spawn(async move {
                while let Some(accepted) = incoming.next_or_refusal().await {
                    hold.lock().unwrap().extend(accepted);
                }
            }));
            let counts = count(&network);
            for number in 0..20_000u32 {
                network.inject(&spoofed(number, &offer(number.into()))).unwrap();
                if number % 50 == 0 {
                    runtime.sleep_until(runtime.now() + Duration::from_millis(1)).await;
                }
            }
            let believed = held.lock().unwrap().len();
            assert!(believed <= 256, "{believed} of 20,000 were believed");
            let retries = counts.lock().unwrap().get(&(Kind::Retry as u8)).copied().unwrap_or_default();
            if credentials.is_some() {
                assert_eq!((believed, retries), (0, 0), "an offer without a key is no load");
            } else {
                assert!(retries > 15_000, "{retries}");
            }
            let stack = make_stack!(A);
            let connecting = stack.connect(client(&network), server_addr()).settings(settings());
            let before = runtime.now();
            let _connection = connecting.await.unwrap();
            assert!(runtime.now() - before < Duration::from_secs(1));
            let end = runtime.now() + Duration::from_secs(1);
            runtime.sleep_until(end).await;
            assert_eq!(held.lock().unwrap().len(), believed + 1);
        });
    }
}

/// The server lets unvalidated clients in up to half of their places. Further clients have to confirm their
/// address first, which costs an honest client no time.
#[test]
fn a_busy_server_waits_for_the_confirmation() {
    simulate(4, async |network: Network| {
        network.answer_closed_ports(false);
        let few = with(|settings| settings.unvalidated_clients = 10);
        let mut incoming =
            make_stack!(A).listen(server(&network), server_addr()).settings(few).await.unwrap();
        let runtime = network.runtime().clone();
        for number in 0..8 {
            network.inject(&spoofed(number, &offer(number.into()))).unwrap();
        }
        let (mut let_in, end) = (Vec::new(), runtime.now() + Duration::from_secs(1));
        while let Either::Left((accepted, _)) =
            select(pin!(incoming.next_or_refusal()), pin!(runtime.sleep_until(end))).await
        {
            let_in.push(accepted.unwrap().unwrap());
        }
        assert_eq!(let_in.len(), 5);
        let counts = count(&network);
        echo(&network, incoming, |_| {});
        let mut held = Vec::new();
        for _ in 0..100 {
            let before = network.runtime().now();
            let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
            assert_eq!((network.runtime().now() - before).as_micros(), 200, "one round trip");
            connection.send(bytes(b"hello")).await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *b"hello");
            held.push(connection);
        }
        let counts = counts.lock().unwrap();
        assert_eq!(counts[&(Kind::Confirm as u8)], 100);
        assert!(!counts.contains_key(&(Kind::Retry as u8)), "{counts:?}");
    });
}

/// The server sends an unvalidated address at most three times the bytes that came from it, whatever the
/// messages are.
#[test]
fn nobody_gets_three_times_what_was_sent_in_his_name() {
    let key = IdentityKey::from_seed([1; 32]);
    let pinning = Credentials::default().trusting([key.public()]);
    let [none, shared] = credentials();
    let kinds =
        [(none.clone(), none), (shared.clone(), shared), (pinning, Credentials::default().identity(key))];
    for (at_client, at_server) in kinds {
        for seed in 0..40 {
            let (at_client, at_server) = (at_client.clone(), at_server.clone());
            simulate(seed, async |network: Network| {
                network.answer_closed_ports(false);
                // The attacker records the messages of an honest client, with stacks that are accepted and
                // refused.
                let said = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
                let listen = said.clone();
                network.tap(move |datagram| {
                    if datagram.to == server_addr().ip("load").unwrap() {
                        listen.lock().unwrap().push(datagram.payload.clone());
                    }
                    Verdict::Pass
                });
                let settings = with(|settings| settings.credentials = at_server);
                let listening = make_stack!(A, B).listen(server(&network), server_addr()).settings(settings);
                let mut incoming = listening.await.unwrap();
                let runtime = network.runtime().clone();
                std::mem::forget(runtime.spawn(async move { while incoming.next().await.is_some() {} }));
                let ours = || with(|settings| settings.credentials = at_client.clone());
                let stack = make_stack!(A, B);
                let connection =
                    stack.connect(client(&network), server_addr()).settings(ours()).await.unwrap();
                connection.send(bytes(b"hello")).await.unwrap();
                drop(connection);
                let stack = make_stack!(B);
                let refused =
                    stack.connect(client(&network), server_addr()).settings(ours()).await.err().unwrap();
                assert_eq!(refused.kind(), ErrorKind::Refused);
                let said = std::mem::take(&mut *said.lock().unwrap());
                network.untap();

                let traffic = Arc::new(Mutex::new(BTreeMap::<SocketAddr, (usize, usize)>::new()));
                let count = traffic.clone();
                network.tap(move |datagram| {
                    count.lock().unwrap().entry(datagram.to).or_default().1 += datagram.payload.len();
                    Verdict::Pass
                });
                let mut dice = seed + 1;
                for _ in 0..200 {
                    dice =
                        dice.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                    let payload = &said[(dice >> 33) as usize % said.len()];
                    let datagram = spoofed((dice >> 20) as u32 % 20, payload);
                    traffic.lock().unwrap().entry(datagram.from).or_default().0 += payload.len();
                    network.inject(&datagram).unwrap();
                    let pause = Duration::from_micros(1 << (dice >> 40 & 0xf));
                    runtime.sleep_until(runtime.now() + pause).await;
                }
                runtime.sleep_until(runtime.now() + Duration::from_secs(5)).await;
                for (address, (received, sent)) in &*traffic.lock().unwrap() {
                    assert!(sent <= &(3 * received), "seed {seed}: {sent} bytes to {address} for {received}");
                }
            });
        }
    }
}

#[test]
fn a_network_that_asks_too_often_waits_and_others_do_not() {
    simulate(5, async |network: Network| {
        let slow = with(|settings| settings.offers_per_second = 10);
        let incoming = make_stack!(A).listen(server(&network), server_addr()).settings(slow).await.unwrap();
        echo(&network, incoming, |_| {});
        let runtime = network.runtime();
        let before = runtime.now();
        // The server answers ten clients at once, ten more with cookies, and then ten more each second.
        for _ in 0..40 {
            make_stack!(A).connect(network.host([10, 0, 0, 7]), server_addr()).await.unwrap();
        }
        assert!(runtime.now() - before >= Duration::from_millis(900), "{:?}", runtime.now() - before);
        let before = runtime.now();
        make_stack!(A).connect(network.host([10, 0, 1, 7]), server_addr()).await.unwrap();
        assert_eq!((runtime.now() - before).as_micros(), 200);
    });
}
