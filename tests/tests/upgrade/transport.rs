//! Messages across changes between stacks of the library's own transport, whose ends tell each other when they close.

use crate::scene::{A, B, bytes, simulate};
use crate::traffic::{connect, converse};
use bertha_chunnels::{AtMostOnce, Batch, Ordered, Reliable};
use bertha_core::{Connection, Runtime, make_stack, select};
use bertha_datapath_sim::{Link, Network};
use bertha_negotiation::{Negotiate, Pick, Settings};
use bertha_tests::with_seeds;
use std::time::Duration;

/// An end that has left the old stack does not close it while the other end still receives from it.
#[test]
fn a_stack_that_was_left_ends_nothing_at_the_other_end() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || {
                let plain = make_stack!(Ordered::new(), Reliable::new(), Batch::new());
                let careful = make_stack!(Ordered::new(), Reliable::new(), AtMostOnce);
                make_stack!(select!(plain, careful)).upgradable()
            };
            let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
            if seed % 2 == 1 {
                network.set_link(Link::poor(0.02 + (seed % 4) as f64 * 0.02));
            }
            converse(&network, &client, &server, seed * 100, 60, 4).await;
        });
    });
}

/// The transport loses no messages that it holds for a busy application.
#[test]
fn an_application_that_is_busy_during_a_change_loses_nothing() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, B), Reliable::new()).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        for number in 0..50 {
            server.send(bytes(&[number])).await.unwrap();
        }
        // A `recv` waits, and is not polled again before the change is long over.
        let mut first = Box::pin(client.recv());
        assert!(futures_util::poll!(&mut first).is_pending());
        client.upgrade(Pick::alternative(1)).await.unwrap();
        server.send(bytes(&[50])).await.unwrap();
        let runtime = network.runtime();
        runtime.sleep_until(runtime.now() + Duration::from_secs(2)).await;
        assert_eq!(*first.await.unwrap(), [0]);
        for number in 1..=50 {
            assert_eq!(*client.recv().await.unwrap(), [number]);
        }
    });
}
