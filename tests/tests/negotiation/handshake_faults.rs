//! Handshakes over a network that loses, repeats, reorders and damages messages.

use crate::scene::{A, B, C, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Buf, Connection, Datapath, Error, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_sim::{Link, Network, Verdict};
use bertha_negotiation::{Negotiate, Settings};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn poor() -> Link {
    Link { corruption: 0.05, ..Link::poor(0.2) }
}

/// With an even seed the two ends have a stack in common. With an odd seed they have no stack in common.
#[test]
fn two_thousand_seeds_end_in_agreement_or_in_the_same_error() {
    for seed in 0..2000 {
        simulate(seed, async |network: Network| {
            network.set_link(poor());
            let settings = Settings::default();
            let incoming = make_stack!(select!(A, B)).listen(server(&network), server_addr()).await.unwrap();
            let refused = Arc::new(Mutex::new(Vec::<Error>::new()));
            let at_server = refused.clone();
            echo(&network, incoming, move |error| at_server.lock().unwrap().push(error));
            if seed % 2 == 0 {
                let stack = make_stack!(select!(C, B));
                let connection = stack.connect(client(&network), server_addr()).settings(settings).await;
                let connection = connection.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                assert!(connection.explain().to_string().starts_with("B,"), "seed {seed}");
                exchange(seed, &network, &connection).await;
            } else {
                let error = make_stack!(C).connect(client(&network), server_addr()).settings(settings).await;
                let error = error.err().unwrap_or_else(|| panic!("seed {seed}: agreed on nothing"));
                assert_eq!(error.kind(), ErrorKind::Refused, "seed {seed}");
                let at_server = refused.lock().unwrap();
                assert!(!at_server.is_empty(), "seed {seed}");
                assert!(at_server.iter().all(|other| other.to_string() == error.to_string()), "seed {seed}");
            }
        });
    }
}

/// Sends numbered messages until a message comes back whole, and checks that no other messages arrive.
async fn exchange<C: Connection<Data = Buf>>(seed: u64, network: &Network, connection: &C) {
    let runtime = network.runtime();
    for _ in 0..200 {
        connection.send(bytes(b"a message with a check: 12345678")).await.unwrap();
        let deadline = std::pin::pin!(runtime.sleep_until(runtime.now() + Duration::from_millis(50)));
        let reception = std::pin::pin!(connection.recv());
        let reply = futures_util::future::select(deadline, reception).await;
        if let futures_util::future::Either::Right((reply, _)) = reply {
            let reply = reply.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            if *reply == *b"a message with a check: 12345678" {
                return;
            }
        }
    }
    panic!("seed {seed}: no echo in 200 attempts");
}

#[test]
fn a_repeated_offer_does_not_reach_the_application() {
    simulate(1, async |network: Network| {
        // The first three answers are lost.
        let answers = Arc::new(Mutex::new(0));
        let seen = answers.clone();
        network.tap(move |datagram| {
            if datagram.payload.first() == Some(&2) {
                let mut seen = seen.lock().unwrap();
                *seen += 1;
                return if *seen <= 3 { Verdict::Drop } else { Verdict::Pass };
            }
            Verdict::Pass
        });
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let served = async {
            let connection = incoming.next().await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *b"first");
            connection
        };
        let connected = async {
            let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
            connection.send(bytes(b"first")).await.unwrap();
            connection
        };
        // The server's application is in `recv` while the client repeats its offers, and `recv` answers them.
        let (_served, _connected) = futures_util::join!(served, connected);
        assert_eq!(*answers.lock().unwrap(), 4);
    });
}

#[test]
fn data_that_overtakes_the_answer_is_not_lost() {
    simulate(2, async |network: Network| {
        let held = Arc::new(Mutex::new(None));
        let (hold, injector) = (held.clone(), network.clone());
        network.tap(move |datagram| {
            // The network holds the answer back until three messages of data have passed it.
            match datagram.payload.first() {
                Some(2) => {
                    hold.lock().unwrap().get_or_insert((datagram.clone(), 0));
                    return Verdict::Drop;
                }
                Some(0) if datagram.from == server_addr().ip("test").unwrap() => {
                    let mut held = hold.lock().unwrap();
                    if let Some((answer, passed)) = &mut *held {
                        *passed += 1;
                        if *passed == 3 {
                            injector.inject(answer).unwrap();
                        }
                    }
                }
                _ => {}
            }
            Verdict::Pass
        });
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let served = async {
            let connection = incoming.next().await.unwrap();
            for number in 0..3u8 {
                connection.send(bytes(&[number])).await.unwrap();
            }
            connection
        };
        let connected = async { make_stack!(A).connect(client(&network), server_addr()).await };
        let (served, connected) = futures_util::join!(served, connected);
        let connected = connected.unwrap();
        let mut received = BTreeSet::new();
        for _ in 0..3 {
            received.insert(connected.recv().await.unwrap()[0]);
        }
        assert_eq!(received, BTreeSet::from([0, 1, 2]));
        drop(served);
    });
}

#[test]
fn bursts_stay_bursts_on_the_server() {
    simulate(3, async |network: Network| {
        let stack = make_stack!(select!(bertha_chunnels::Nothing, A));
        let mut incoming = stack.listen(server(&network), server_addr()).await.unwrap();
        let stack = make_stack!(bertha_chunnels::Nothing);
        let (served, connected) = futures_util::join!(
            incoming.next_or_refusal(),
            stack.connect(client(&network), server_addr()).into_future()
        );
        let (served, connected) = (served.unwrap().unwrap(), connected.unwrap());
        connected.send_batch((0..32u8).map(|number| bytes(&[number]))).await.unwrap();
        let runtime = network.runtime();
        runtime.sleep_until(runtime.now() + Duration::from_secs(1)).await;
        let mut received = Vec::new();
        assert_eq!(served.recv_batch(&mut received, 64).await.unwrap(), 32, "one call takes the whole burst");
    });
}

#[test]
fn send_goes_on_while_another_task_waits_in_recv() {
    simulate(4, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let connected = async { make_stack!(A).connect(client(&network), server_addr()).await };
        let (served, connected) = futures_util::join!(incoming.next_or_refusal(), connected);
        let (served, connected) = (served.unwrap().unwrap(), connected.unwrap());
        let waiting = connected.recv();
        let sending = async {
            for number in 0..100u8 {
                connected.send(bytes(&[number])).await.unwrap();
                assert_eq!(served.recv().await.unwrap()[0], number);
            }
            served.send(bytes(b"now")).await.unwrap();
        };
        let (received, ()) = futures_util::join!(waiting, sending);
        assert_eq!(*received.unwrap(), *b"now");
    });
}

#[test]
fn payloads_that_look_like_handshake_messages_are_delivered_as_data() {
    // The recording contains all messages of a handshake and a close.
    let recorded = simulate(5, async |network: Network| {
        let recorded = Arc::new(Mutex::new(Vec::new()));
        let record = recorded.clone();
        network.tap(move |datagram| {
            record.lock().unwrap().push(datagram.payload.to_vec());
            Verdict::Pass
        });
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        connection.send(bytes(b"data")).await.unwrap();
        connection.recv().await.unwrap();
        connection.close().await.unwrap();
        assert!(make_stack!(B).connect(client(&network), server_addr()).await.is_err());
        std::mem::take(&mut *recorded.lock().unwrap())
    });
    assert!(recorded.len() >= 8, "{} messages", recorded.len());
    round_trip(recorded);
}

/// Sends each payload from either end to the other, over a stack that adds no bytes.
fn round_trip(payloads: Vec<Vec<u8>>) {
    simulate(6, async |network: Network| {
        let stack = || make_stack!(bertha_chunnels::Nothing);
        let incoming = stack().listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = stack().connect(client(&network), server_addr()).await.unwrap();
        for payload in payloads {
            connection.send(bytes(&payload)).await.unwrap();
            assert_eq!(*connection.recv().await.unwrap(), *payload);
        }
        assert_eq!(connection.dropped(), 0);
    });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_payload_is_delivered_as_it_is(
        payloads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..100), 1..20),
    ) {
        round_trip(payloads);
    }
}

#[test]
fn nobody_answers() {
    simulate(7, async |network: Network| {
        network.answer_closed_ports(false);
        let error = make_stack!(A).connect(client(&network), server_addr()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        network.answer_closed_ports(true);
        let error = make_stack!(A).connect(client(&network), server_addr()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::Unreachable);
    });
}

#[test]
fn an_offer_that_does_not_fit_is_an_error() {
    simulate(8, async |network: Network| {
        network.set_link(Link { mtu: 30, ..Link::default() });
        let error = make_stack!(A, B, C).connect(client(&network), server_addr()).await.err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        assert!(error.to_string().contains("at most 30 fit"), "{error}");
    });
}

#[test]
fn an_oversize_message_fails_alone() {
    simulate(9, async |network: Network| {
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        let error = connection.send(bytes(&[0; 65_507])).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TooLarge);
        connection.send(bytes(b"small")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"small");
    });
}

#[test]
fn over_a_stream_too() {
    simulate(10, async |network: Network| {
        let incoming = make_stack!(A).listen(server(&network).streams(), server_addr()).await.unwrap();
        echo(&network, incoming, |_| {});
        let connection = make_stack!(A).connect(client(&network).streams(), server_addr()).await.unwrap();
        connection.send(bytes(b"framed")).await.unwrap();
        assert_eq!(*connection.recv().await.unwrap(), *b"framed");
        connection.close().await.unwrap();
    });
}

/// A client that connects and sends nothing holds no place forever.
#[test]
fn a_silent_stream_is_given_up() {
    simulate(11, async |network: Network| {
        let mut incoming = make_stack!(A).listen(server(&network).streams(), server_addr()).await.unwrap();
        let silent = client(&network).streams().connect(server_addr()).await.unwrap();
        let error = incoming.next_or_refusal().await.unwrap().err().unwrap();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        drop(silent);
    });
}
