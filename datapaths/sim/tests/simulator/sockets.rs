//! Addresses, listeners and connections over datagrams, which behave as a kernel's.

use crate::wire::{CLIENT, SERVER, arrived, at, connected, listen, message, number, run, send, server};
use bertha_core::{Addr, Base, Connection, Datapath, ErrorKind, Listener, Properties};
use bertha_datapath_sim::{Datagram, Limits, Link};
use futures_util::FutureExt;
use std::time::Duration;

const WHILE: Duration = Duration::from_millis(1);

#[test]
fn the_first_datagram_makes_a_connection_and_can_be_received() {
    run(1, async |network| {
        let listener = listen(&network).await;
        let client = network.host(CLIENT).connect(server()).await.unwrap();
        client.send(message(17)).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 17);
        accepted.send(message(18)).await.unwrap();
        assert_eq!(number(&client.recv().await.unwrap()), 18);
        assert_eq!(accepted.base().local_addr(), server());
        assert_eq!(client.base().peer_addr(), server());
        assert_eq!(client.base().local_addr(), accepted.base().peer_addr());
        assert_eq!(client.base().properties(), Properties::DATAGRAM);
    });
}

#[test]
fn a_dropped_connection_forgets_its_address() {
    run(1, async |network| {
        let (client, accepted, listener) = connected(&network, |host| host).await;
        client.send(message(1)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert!(listener.accept().now_or_never().is_none(), "it is known");
        drop(accepted);
        client.send(message(2)).await.unwrap();
        let again = listener.accept().await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(arrived(&again), [2]);
        again.close().await.unwrap();
        client.send(message(9)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert!(listener.accept().now_or_never().is_none(), "late for a closed connection");
        assert_eq!(network.counters().closed, 1);
        drop(again);
        client.send(message(3)).await.unwrap();
        assert_eq!(number(&listener.accept().await.unwrap().recv().await.unwrap()), 3);
    });
}

#[test]
fn connections_stay_when_their_listener_goes() {
    run(1, async |network| {
        let (client, accepted, listener) = connected(&network, |host| host).await;
        let waiting = network.host(CLIENT).connect(server()).await.unwrap();
        waiting.send(message(1)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        drop(listener);
        client.send(message(2)).await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 2);
        waiting.send(message(3)).await.unwrap();
        assert_eq!(waiting.recv().await.unwrap_err().kind(), ErrorKind::Unreachable);
        // The port is free again, and peers in the old backlog are unknown.
        let listener = listen(&network).await;
        waiting.send(message(4)).await.unwrap();
        assert_eq!(number(&listener.accept().await.unwrap().recv().await.unwrap()), 4);
    });
}

#[test]
fn backlog_and_queue_are_bounded() {
    run(1, async |network| {
        network.set_limits(Limits { backlog: 2, queue: 3 });
        let listener = listen(&network).await;
        let mut clients = Vec::new();
        for number in 0..5 {
            let client = network.host(CLIENT).connect(server()).await.unwrap();
            client.send(message(number)).await.unwrap();
            clients.push(client);
        }
        network.runtime().sleep(WHILE).await;
        assert_eq!(network.counters().refused, 3);
        let first = listener.accept().await.unwrap();
        listener.accept().await.unwrap();
        assert!(listener.accept().now_or_never().is_none());
        send(&clients[0], 10..20).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(arrived(&first), [0, 10, 11]);
        assert_eq!(network.counters().overflowed, 8);
    });
}

#[test]
fn a_closed_port_answers_once_and_can_be_silenced() {
    run(1, async |network| {
        let client = network.host(CLIENT).connect(server()).await.unwrap();
        client.send(message(1)).await.unwrap();
        assert_eq!(client.recv().await.unwrap_err().kind(), ErrorKind::Unreachable);
        assert!(client.recv().now_or_never().is_none());
        client.send(message(2)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(client.send(message(3)).await.unwrap_err().kind(), ErrorKind::Unreachable);
        client.send(message(4)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        drop(client);
        network.answer_closed_ports(false);
        let client = network.host(CLIENT).connect(server()).await.unwrap();
        client.send(message(5)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert!(client.recv().now_or_never().is_none());
        assert_eq!(network.counters().closed_port, 4);
    });
}

#[test]
fn a_restarted_host_has_lost_everything() {
    run(1, async |network| {
        let (client, accepted, listener) = connected(&network, |host| host).await;
        network.restart(SERVER);
        assert_eq!(accepted.recv().await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(accepted.send(message(1)).await.unwrap_err().kind(), ErrorKind::Closed);
        assert_eq!(listener.accept().await.unwrap_err().kind(), ErrorKind::Closed);
        let new = listen(&network).await;
        // Sockets that the dead process drops late must not remove the new process's sockets.
        drop((accepted, listener));
        client.send(message(2)).await.unwrap();
        let accepted = new.accept().await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 2);
    });
}

#[test]
fn a_client_comes_back_with_its_address() {
    run(1, async |network| {
        let listener = listen(&network).await;
        let host = network.host(CLIENT).from_port(5000);
        let before = host.connect(server()).await.unwrap();
        before.send(message(1)).await.unwrap();
        let accepted = listener.accept().await.unwrap();
        assert_eq!(host.connect(server()).await.unwrap_err().kind(), ErrorKind::AddrInUse);
        network.restart(CLIENT);
        let after = host.connect(server()).await.unwrap();
        drop(before);
        after.send(message(2)).await.unwrap();
        network.runtime().sleep(WHILE).await;
        assert_eq!(arrived(&accepted), [1, 2]);
        accepted.send(message(3)).await.unwrap();
        assert_eq!(number(&after.recv().await.unwrap()), 3);
        assert_eq!(accepted.base().peer_addr(), at(CLIENT, 5000));
    });
}

#[test]
fn strangers_do_not_reach_a_connected_client() {
    run(1, async |network| {
        let (client, ..) = connected(&network, |host| host).await;
        let to = client.base().local_addr().ip("test").unwrap();
        let from = (SERVER, 6666).into();
        network.inject(&Datagram { from, to, payload: vec![0; 8] }).unwrap();
        network.runtime().sleep(WHILE).await;
        assert!(arrived(&client).is_empty());
        assert_eq!(network.counters().closed_port, 1);
    });
}

#[test]
fn wrong_addresses_are_refused() {
    run(1, async |network| {
        let host = network.host(CLIENT);
        let unix = Addr::Unix("/run/store.sock".into());
        let v6 = Addr::Ip("[::1]:4242".parse().unwrap());
        for to in [unix.clone(), v6.clone(), at(SERVER, 0), Addr::Ip("0.0.0.0:1".parse().unwrap())] {
            assert_eq!(host.connect(to).await.unwrap_err().kind(), ErrorKind::Invalid);
        }
        for on in [unix, v6, server()] {
            assert_eq!(host.listen(on).await.unwrap_err().kind(), ErrorKind::Invalid);
        }
        let any = host.listen("0.0.0.0:0".parse().unwrap()).await.unwrap();
        let Addr::Ip(local) = any.local_addr() else { panic!("not an IP address") };
        assert!(local.ip() == CLIENT && local.port() != 0);
        assert_eq!(host.listen(local.into()).await.unwrap_err().kind(), ErrorKind::AddrInUse);
    });
}

#[test]
fn a_message_beyond_the_mtu_fails_alone() {
    run(1, async |network| {
        let (client, accepted, _listener) = connected(&network, |host| host).await;
        network.set_link_between(CLIENT, SERVER, Link { mtu: 8, ..Link::default() });
        assert_eq!((client.base().mtu(), accepted.base().mtu()), (8, 65_507));
        let large = bertha_core::Buf::new(9, 0).unwrap();
        assert_eq!(client.send(large).await.unwrap_err().kind(), ErrorKind::TooLarge);
        client.base().reserve(4);
        let mut oversize = client.base().buffer(5).unwrap();
        oversize.prepend(4).unwrap();
        assert_eq!(client.send(oversize).await.unwrap_err().kind(), ErrorKind::TooLarge);
        assert_eq!(client.base().buffer(4).unwrap().headroom(), 4);
        client.send(message(1)).await.unwrap();
        assert_eq!(number(&accepted.recv().await.unwrap()), 1);
    });
}
