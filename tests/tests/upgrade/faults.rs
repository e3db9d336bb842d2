//! Messages across changes, over a network that loses, repeats and reorders messages, and with peers that
//! vanish.

use crate::reliable::{Early, Late};
use crate::scene::{A, B, CLIENT, SERVER, bytes, simulate};
use crate::traffic::{connect, converse};
use bertha_core::{Connection, ErrorKind, Runtime, make_stack, select};
use bertha_datapath_sim::{Link, Network};
use bertha_negotiation::{Negotiate, Pick, Settings};
use bertha_tests::with_seeds;
use std::time::Duration;

#[test]
fn reliable_stacks_stay_reliable_across_changes() {
    with_seeds(1000, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(Early, Late)).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            network.set_link(Link::poor(0.05 + (seed % 4) as f64 * 0.05));
            converse(&network, &client, &server, seed * 100, 60, 4).await;
        });
    });
}

/// Without a Chunnel that restores the order, messages arrive in any order. Each message arrives once, and
/// the messages of a round arrive before the messages of the next round.
#[test]
fn what_is_late_is_waited_for() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            network.set_link(Link { reordering: 0.3, ..Link::default() });
            let runtime = network.runtime();
            let sending = async {
                for number in 0..200u8 {
                    client.send(bytes(&[number])).await.unwrap();
                    if number % 50 == 49 {
                        let alternative = usize::from(number % 100 == 49);
                        client.upgrade(Pick::alternative(alternative)).await.unwrap();
                    }
                }
            };
            let receiving = async {
                let mut received = Vec::new();
                loop {
                    let timer = std::pin::pin!(runtime.sleep_until(runtime.now() + Duration::from_secs(2)));
                    let next = std::pin::pin!(server.recv());
                    match futures_util::future::select(next, timer).await {
                        futures_util::future::Either::Left((message, _)) => {
                            received.push(message.unwrap()[0])
                        }
                        futures_util::future::Either::Right(_) => return received,
                    }
                }
            };
            let (received, ()) = futures_util::join!(receiving, sending);
            assert_eq!(received.len(), 200, "seed {seed}");
            for (round, numbers) in received.chunks(50).enumerate() {
                let mut numbers = numbers.to_vec();
                numbers.sort_unstable();
                let first = round as u8 * 50;
                assert_eq!(numbers, (first..first + 50).collect::<Vec<_>>(), "seed {seed}");
            }
        });
    });
}

#[test]
fn without_a_peer_nothing_changes_and_the_application_hears_it() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        // The server does not receive, and so does not hear the request.
        let error = client.upgrade(Pick::alternative(1)).await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("it may not be receiving"), "{error}");
        assert_eq!(client.explain().round(), 0);
        client.send(bytes(b"still here")).await.unwrap();
        assert_eq!(*server.recv().await.unwrap(), *b"still here");
        // The server hears the first request only now, and that request has ended.
        let (agreed, _) = futures_util::future::join(client.upgrade(Pick::alternative(1)), async {
            let runtime = network.runtime();
            let timer = std::pin::pin!(runtime.sleep_until(runtime.now() + Duration::from_secs(5)));
            let _ = futures_util::future::select(std::pin::pin!(server.recv()), timer).await;
        })
        .await;
        agreed.unwrap();
        client.send(bytes(b"changed")).await.unwrap();
        assert_eq!(*server.recv().await.unwrap(), *b"changed");
        assert_eq!(server.explain().picks(), [1]);
    });
}

#[test]
fn a_peer_that_dies_in_the_middle_ends_the_connection_and_no_call_hangs() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let mut settings = Settings::default();
            settings.idle_timeout = Duration::from_secs(2);
            let (client, server) = connect(&network, stack(), stack(), settings).await;
            let runtime = network.runtime();
            let dying = async {
                runtime.sleep_until(runtime.now() + Duration::from_micros(seed * 10)).await;
                network.cut(CLIENT, SERVER);
            };
            let sending = async {
                loop {
                    if let Err(error) = client.send(bytes(b"anyone?")).await {
                        return error;
                    }
                    runtime.sleep_until(runtime.now() + Duration::from_millis(10)).await;
                }
            };
            let receiving = async {
                loop {
                    if let Err(error) = server.recv().await {
                        return error;
                    }
                }
            };
            let (upgraded, sent, received, pending, ()) = futures_util::join!(
                client.upgrade(Pick::alternative(1)),
                sending,
                receiving,
                client.recv(),
                dying
            );
            if let Err(error) = upgraded {
                assert_eq!(error.kind(), ErrorKind::TimedOut, "seed {seed}: {error}");
            }
            for error in [sent, received, pending.unwrap_err()] {
                assert_eq!(error.kind(), ErrorKind::TimedOut, "seed {seed}: {error}");
            }
        });
    });
}
