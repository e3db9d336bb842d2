//! A link that no call reads during a change: hearing nothing on it then shows nothing about the peer.

use crate::scene::{A, B, bytes, client, server, simulate};
use crate::traffic::{connect, connect_over};
use crate::unready::{Waits, rests};
use bertha_core::{Connection, Role, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{Negotiate, Pick, Settings};
use futures_util::future::join;
use std::pin::pin;
use std::time::Duration;

/// Returns settings whose idle time-out is shorter than building a stack may take.
fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.idle_timeout = Duration::from_secs(2);
    settings
}

/// A stack that is being built waits for a message that a kept `recv` would have to read, and this `recv` is
/// not polled.
#[test]
fn a_stack_that_waits_for_another_reader_ends_nothing() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, make_stack!(Waits(Role::Server)))).upgradable();
        let (client, server) = connect(&network, stack(), stack(), settings()).await;
        let mut kept = pin!(server.recv());
        assert!(futures_util::poll!(kept.as_mut()).is_pending());
        let receiving = async {
            rests(&network, &server, Duration::from_millis(100)).await;
            network.runtime().sleep(Duration::from_secs(15)).await;
        };
        let (refused, ()) = join(client.upgrade(Pick::alternative(1)), receiving).await;
        let error = refused.unwrap_err();
        assert!(error.to_string().contains("in time"), "{error}");
        client.send(bytes(b"there")).await.unwrap();
        assert_eq!(*kept.await.unwrap(), *b"there");
    });
}

/// The application is busy, and more messages of the new round have come than the link keeps: the rest waits
/// in the stream.
#[test]
fn a_reader_that_waits_for_room_ends_nothing() {
    const COUNT: u32 = 3_000;
    simulate(2, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let [here, there] = [client(&network), server(&network)].map(SimDatapath::streams);
        let (client, server) = connect_over(here, there, stack(), stack(), settings()).await;
        let runtime = network.runtime();
        let send = async |numbers: std::ops::Range<u32>| {
            for number in numbers {
                client.send(bytes(&number.to_le_bytes())).await.unwrap();
                runtime.sleep(Duration::from_micros(10)).await;
            }
        };
        let receive = async |numbers: std::ops::Range<u32>| {
            for number in numbers {
                assert_eq!(*server.recv().await.unwrap(), number.to_le_bytes());
            }
        };
        let talking = async {
            join(client.upgrade(Pick::alternative(1)), send(0..10)).await.0.unwrap();
            send(10..COUNT).await;
        };
        let working = async {
            receive(0..5).await;
            runtime.sleep(Duration::from_secs(15)).await;
            receive(5..COUNT).await;
        };
        join(talking, working).await;
    });
}
