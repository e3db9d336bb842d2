//! A future of `recv` that is polled once and then kept.

use crate::scene::{A, B, bytes, simulate};
use crate::traffic::connect;
use bertha_core::{Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Negotiate, Pick, Settings};
use std::pin::pin;

#[test]
fn a_reception_that_is_kept_and_not_polled_holds_a_change_up_for_so_long() {
    simulate(1, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        let mut kept = pin!(client.recv());
        assert!(futures_util::poll!(kept.as_mut()).is_pending());
        let before = network.runtime().elapsed();
        let asking = client.upgrade(Pick::alternative(1));
        let serving = async { server.recv().await.unwrap() };
        let (error, message) = futures_util::join!(
            async {
                let error = asking.await.unwrap_err();
                client.send(bytes(b"there")).await.unwrap();
                error
            },
            serving
        );
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("a `recv` here is kept and not polled"), "{error}");
        assert_eq!((network.runtime().elapsed() - before).as_secs(), 10);
        assert_eq!(*message, *b"there");
        server.send(bytes(b"back")).await.unwrap();
        assert_eq!(*kept.await.unwrap(), *b"back");
    });
}

/// Another call of `recv` receives, so the client hears the server, and the first change takes effect for
/// messages that are sent. A further change waits for the kept `recv`, until its time is up.
#[test]
fn no_further_change_is_waited_for_without_end() {
    simulate(2, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let (client, server) = connect(&network, stack(), stack(), Settings::default()).await;
        let mut kept = pin!(client.recv());
        assert!(futures_util::poll!(kept.as_mut()).is_pending());
        let changing = async {
            client.upgrade(Pick::alternative(1)).await.unwrap();
            server.send(bytes(b"back")).await.unwrap();
            let error = client.upgrade(Pick::alternative(0)).await.unwrap_err();
            client.send(bytes(b"there")).await.unwrap();
            error
        };
        let (error, received, answer) = futures_util::join!(changing, server.recv(), client.recv());
        assert_eq!((&*received.unwrap(), &*answer.unwrap()), (&b"there"[..], &b"back"[..]));
        assert_eq!(error.kind(), ErrorKind::TimedOut);
        assert!(error.to_string().contains("another change of the stack"), "{error}");
        assert_eq!(network.runtime().elapsed().as_secs(), 10);
    });
}
