//! Reliable, ordered streams.

use crate::wire::{CLIENT, SERVER, connected, message, number, run, send, server};
use bertha_core::{Base, Connection, Datapath, ErrorKind, Listener, Properties};
use bertha_datapath_sim::{Limits, Link, SimDatapath};
use futures_util::FutureExt;
use futures_util::future::join;
use std::time::Duration;

const POOR: Link = Link {
    loss: 0.3,
    duplication: 0.3,
    reordering: 0.3,
    detour: Duration::from_millis(10),
    delay: Duration::from_micros(100),
    jitter: Duration::from_millis(1),
    corruption: 0.3,
    mtu: 1400,
    bottleneck: None,
};

#[test]
fn everything_arrives_once_and_in_order_whatever_the_link() {
    for seed in 0..20 {
        run(seed, async |network| {
            network.set_limits(Limits { queue: 16, ..Limits::default() });
            network.set_link(POOR);
            let (client, accepted, _listener) = connected(&network, SimDatapath::streams).await;
            assert_eq!(client.base().properties(), Properties::STREAM);
            let receive = async {
                for expected in 0..100 {
                    assert_eq!(number(&accepted.recv().await.unwrap()), expected);
                }
            };
            let (sent, ()) = join(send(&client, 0..100), receive).await;
            sent.unwrap();
        });
    }
}

#[test]
fn send_waits_while_nobody_receives() {
    run(1, async |network| {
        network.set_limits(Limits { queue: 4, ..Limits::default() });
        let (client, accepted, _listener) = connected(&network, SimDatapath::streams).await;
        for sent in 0..8 {
            client.send(message(sent)).now_or_never().unwrap().unwrap();
            network.runtime().sleep(Duration::from_millis(1)).await;
        }
        assert!(client.send(message(8)).now_or_never().is_none());
        assert_eq!(number(&accepted.recv().await.unwrap()), 0);
        client.send(message(8)).await.unwrap();
        for expected in 1..9 {
            assert_eq!(number(&accepted.recv().await.unwrap()), expected);
        }
    });
}

#[test]
fn the_peer_receives_what_was_sent_and_then_hears_of_the_end() {
    run(1, async |network| {
        for dropped in [false, true] {
            let (client, accepted, _listener) = connected(&network, SimDatapath::streams).await;
            send(&client, 1..3).await.unwrap();
            if dropped {
                drop(client);
            } else {
                client.close().await.unwrap();
                assert_eq!(client.send(message(3)).await.unwrap_err().kind(), ErrorKind::Closed);
                assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Closed);
            }
            assert_eq!(number(&accepted.recv().await.unwrap()), 1);
            assert_eq!(number(&accepted.recv().await.unwrap()), 2);
            assert_eq!(accepted.recv().await.unwrap_err().kind(), ErrorKind::Closed);
            assert_eq!(accepted.send(message(3)).await.unwrap_err().kind(), ErrorKind::Closed);
        }
    });
}

#[test]
fn a_cut_delays_and_then_fails() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, SimDatapath::streams).await;
        network.cut(CLIENT, SERVER);
        client.send(message(1)).await.unwrap();
        network.runtime().sleep(Duration::from_secs(5)).await;
        assert!(accepted.recv().now_or_never().is_none());
        network.heal(CLIENT, SERVER);
        assert_eq!(number(&accepted.recv().await.unwrap()), 1);
        network.cut(CLIENT, SERVER);
        client.send(message(2)).await.unwrap();
        network.runtime().sleep(Duration::from_secs(120)).await;
        assert_eq!(client.send(message(3)).await.unwrap_err().kind(), ErrorKind::TimedOut);
        assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::TimedOut);
    });
}

#[test]
fn connecting_needs_somebody_there() {
    run(1, async |network| {
        let host = network.host(CLIENT).streams();
        assert_eq!(host.connect(server()).await.unwrap_err().kind(), ErrorKind::Unreachable);
        network.cut(CLIENT, SERVER);
        assert_eq!(host.connect(server()).await.unwrap_err().kind(), ErrorKind::TimedOut);
        network.heal_all();
        // Datagrams have ports of their own.
        let _other = network.host(SERVER).listen(server()).await.unwrap();
        assert_eq!(host.connect(server()).await.unwrap_err().kind(), ErrorKind::Unreachable);
    });
}

#[test]
fn a_restarted_peer_resets() {
    run(1, async |network| {
        let (client, accepted, listener) = connected(&network, SimDatapath::streams).await;
        network.restart(SERVER);
        assert_eq!(accepted.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Closed);
        client.send(message(1)).await.unwrap();
        assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Reset);
        let again = network.host(SERVER).streams().listen(server()).await.unwrap();
        let host = network.host(CLIENT).streams();
        let (client, accepted) = join(host.connect(server()), again.accept()).await;
        client.unwrap().send(message(2)).await.unwrap();
        assert_eq!(number(&accepted.unwrap().recv().await.unwrap()), 2);
    });
}

#[test]
fn a_full_backlog_delays_clients() {
    run(1, async |network| {
        network.set_limits(Limits { backlog: 1, ..Limits::default() });
        let listener = network.host(SERVER).streams().listen(server()).await.unwrap();
        let host = network.host(CLIENT).streams();
        let _first = host.connect(server()).await.unwrap();
        let second = host.connect(server());
        let accept_late = async {
            network.runtime().sleep(Duration::from_secs(1)).await;
            listener.accept().await.unwrap()
        };
        let (second, _accepted) = join(second, accept_late).await;
        assert!(second.is_ok() && network.counters().refused > 0);
    });
}
