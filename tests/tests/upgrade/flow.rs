//! Messages across changes, over a network without faults.

use crate::parting::Parting;
use crate::scene::{A, B, bytes, client, server, simulate};
use crate::traffic::{Dice, connect, connect_over, converse};
use bertha_chunnels::AtMostOnce;
use bertha_core::{Base, Connection, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Credentials, Negotiate, Pick, Settings, SharedKey};
use bertha_tests::with_seeds;
use std::time::Duration;

#[test]
fn every_message_arrives_once_and_in_order() {
    with_seeds(300, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            converse(&network, &client, &server, seed * 100, 300, 6).await;
            assert_eq!((client.dropped(), server.dropped()), (0, 0), "seed {seed}");
        });
    });
}

#[test]
fn with_keys_all_that_is_said_about_a_change_is_proved() {
    with_seeds(50, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let mut settings = Settings::default();
            settings.credentials = Credentials::shared(SharedKey::new([7; 32]));
            let (client, server) = connect(&network, stack(), stack(), settings).await;
            converse(&network, &client, &server, seed * 100, 200, 4).await;
            assert_eq!((client.forged(), server.forged()), (0, 0), "seed {seed}");
        });
    });
}

#[test]
fn a_pending_recv_carries_on_over_the_new_stack() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        assert_eq!(client.explain().to_string(), "A, agreed as client");
        let upgrading = async {
            let runtime = network.runtime();
            runtime.sleep_until(runtime.now() + Duration::from_millis(5)).await;
            let agreement = client.upgrade(Pick::alternative(1)).await.unwrap();
            assert_eq!(agreement.to_string(), "B, agreed as client, round 1");
            assert_eq!((agreement.round(), agreement.picks()), (1, &[1][..]));
            // By then the other end has followed.
            runtime.sleep_until(runtime.now() + Duration::from_millis(50)).await;
            assert_eq!(server.explain().to_string(), "B, agreed as server, round 1");
            client.send(bytes(b"to the server")).await.unwrap();
            server.send(bytes(b"to the client")).await.unwrap();
        };
        let (at_client, at_server, ()) = futures_util::join!(client.recv(), server.recv(), upgrading);
        assert_eq!(*at_client.unwrap(), *b"to the client");
        assert_eq!(*at_server.unwrap(), *b"to the server");
    });
}

#[test]
fn the_stack_of_a_round_that_is_over_says_nothing_to_who_has_yet_to_leave_it() {
    // Some seeds may pick the stack in use each time, and so make no change.
    let mut left = 0;
    with_seeds(50, |seed| {
        left += simulate(seed, async |network: Network| {
            let parting = Parting::default();
            let stack = || make_stack!(select!(parting.clone(), B)).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            converse(&network, &client, &server, seed * 100, 200, 6).await;
            let (said, dropped) = parting.ended();
            assert_eq!(said, 0, "seed {seed}");
            dropped
        });
    });
    assert!(left > 0, "no seed left a stack");
}

#[test]
fn a_change_gives_back_the_room_that_the_old_stack_reserved() {
    simulate(3, async |network: Network| {
        let stack = || make_stack!(select!(A, AtMostOnce)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        let reserved = || (client.base().reserved(), server.base().reserved());
        let (before, runtime) = (reserved(), network.runtime());
        let changing = async {
            for _ in 0..5 {
                for alternative in [1, 0] {
                    client.upgrade(Pick::alternative(alternative)).await.unwrap();
                    // By then the other end has left the old stack as well.
                    runtime.sleep_until(runtime.now() + Duration::from_millis(50)).await;
                    assert_eq!(reserved() == before, alternative == 0, "{:?} and {before:?}", reserved());
                }
            }
            client.close().await.unwrap();
        };
        let (changed, received) = futures_util::join!(changing, server.recv());
        assert!(received.is_err(), "nothing was sent");
        changed
    });
}

#[test]
fn who_changes_the_stack_need_not_receive_meanwhile() {
    simulate(2, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        server.send(bytes(b"before")).await.unwrap();
        let echo = async {
            while let Ok(message) = server.recv().await {
                server.send(message).await.unwrap();
            }
        };
        let one_after_the_other = async {
            for round in 0..5u8 {
                client.upgrade(Pick::alternative(usize::from(round % 2 == 0))).await.unwrap();
                client.send(bytes(&[round])).await.unwrap();
                if round == 0 {
                    assert_eq!(*client.recv().await.unwrap(), *b"before");
                }
                assert_eq!(*client.recv().await.unwrap(), [round]);
            }
            client.close().await.unwrap();
        };
        futures_util::join!(echo, one_after_the_other);
    });
}

#[test]
fn both_ends_may_ask_at_once() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            let asking = async {
                let asked = [
                    futures_util::join!(
                        client.upgrade(Pick::alternative(1)),
                        server.upgrade(Pick::alternative(1)),
                    ),
                    futures_util::join!(
                        client.upgrade(Pick::alternative(0)),
                        server.upgrade(Pick::alternative(1)),
                    ),
                ];
                for (at_client, at_server) in asked {
                    at_client.unwrap();
                    at_server.unwrap();
                }
                client.send(bytes(b"done")).await.unwrap();
            };
            let (received, ()) = futures_util::join!(server.recv(), asking);
            assert_eq!(*received.unwrap(), *b"done", "seed {seed}");
        });
    });
}

#[test]
fn what_was_sent_before_the_end_arrives_whoever_has_read_it() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let (runtime, mut dice) = (network.runtime(), Dice::new(seed));
            let [before, after, heard] = [20, 20, 3].map(|bound| dice.roll(bound) as u8);
            let stack = || make_stack!(select!(A, B)).upgradable();
            let datagrams = [client(&network), server(&network)];
            let [here, there] = if seed % 2 == 0 { datagrams } else { datagrams.map(SimDatapath::streams) };
            let (client, server) = connect_over(here, there, stack(), stack(), Settings::default()).await;
            let talking = async {
                let meanwhile = async {
                    for number in 0..=before {
                        client.send(bytes(&[number])).await.unwrap();
                    }
                };
                let (changed, ()) = futures_util::join!(client.upgrade(Pick::alternative(1)), meanwhile);
                changed.unwrap();
                for number in 0..after {
                    client.send(bytes(&[before + 1 + number])).await.unwrap();
                }
                client.close().await.unwrap();
            };
            let listening = async {
                for number in 0..=before + after {
                    if number == heard.min(before) + 1 {
                        // The change goes on meanwhile, and reads in the application's place.
                        runtime.sleep_until(runtime.now() + Duration::from_secs(1)).await;
                    }
                    assert_eq!(*server.recv().await.unwrap(), [number], "seed {seed}");
                }
                assert_eq!(server.recv().await.unwrap_err().kind(), ErrorKind::Closed, "seed {seed}");
            };
            futures_util::join!(talking, listening);
        });
    });
}
