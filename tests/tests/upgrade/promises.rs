//! A connection that can change its stack keeps the promises of all connections, before and after a change.

use crate::scene::{A, B, bytes, simulate};
use crate::traffic::connect;
use bertha_conformance::{self as conformance, Bufs};
use bertha_core::{Connection, Runtime, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Pick, Settings};
use bertha_tests::with_seeds;
use std::time::Duration;

#[test]
fn before_a_change() {
    with_seeds(10, |seed| {
        simulate(seed, async |network: Network| {
            let connect = async || {
                let stack = || make_stack!(select!(A, B)).upgradable();
                connect(&network, stack(), stack(), Settings::default()).await
            };
            conformance::connection(connect, &Bufs).await;
        });
    });
}

#[test]
fn after_a_change() {
    with_seeds(10, |seed| {
        simulate(seed, async |network: Network| {
            let connect = async || {
                let stack = || make_stack!(select!(A, B)).upgradable();
                let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
                let changing = async {
                    client.upgrade(Pick::alternative(1)).await.unwrap();
                    client.send(bytes(b"changed")).await.unwrap();
                };
                let (received, ()) = futures_util::join!(server.recv(), changing);
                assert_eq!(*received.unwrap(), *b"changed");
                // By then the old stacks are closed.
                let runtime = network.runtime();
                runtime.sleep_until(runtime.now() + Duration::from_millis(200)).await;
                (client, server)
            };
            conformance::connection(connect, &Bufs).await;
        });
    });
}
