//! The statistics of connections name each layer, and tell why a transfer is slow.

use crate::ends::{CLIENT, SERVER, connected};
use crate::secured::scene::{Hosts, Subject};
use bertha_chunnels::fragment::FragmentStatistics;
use bertha_chunnels::order::OrderedStatistics;
use bertha_chunnels::quic::QuicStatistics;
use bertha_chunnels::reliable::ReliableStatistics;
use bertha_chunnels::{Checksum, Fragment, Ordered, Reliable, Serialize};
use bertha_core::statistics::Layer;
use bertha_core::{Buf, Connection, Statistics, make_stack};
use bertha_datapath_sim::{Link, Sim};
use bertha_negotiation::LinkStatistics;
use std::time::Duration;

fn reliable(statistics: &Statistics) -> ReliableStatistics {
    *statistics.get().unwrap()
}

fn message(len: usize) -> Buf {
    Buf::copy_of(&vec![7; len], 64).unwrap()
}

#[test]
fn layers_are_listed_from_the_top_down_with_their_values_and_drops() {
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let stack =
            make_stack!(Serialize::<u32>::new(), Ordered::default(), Reliable::new(), Checksum::new());
        let (client, server) = connected(&network, stack).await;
        client.send(1).await.unwrap();
        assert_eq!(server.recv().await.unwrap(), 1);
        let statistics = client.statistics();
        let names: Vec<_> = statistics.layers().map(Layer::name).collect();
        let place = |name| {
            names.iter().position(|it| *it == name).unwrap_or_else(|| panic!("no {name} in {names:?}"))
        };
        assert!(place("Reliable") < place("Link"), "{names:?}");
        assert!(reliable(&statistics).packets_sent > 0);
        let link: &LinkStatistics = statistics.get().unwrap();
        assert!(link.is_usable && link.changes == 0 && link.headers > 0);
        let checksum = statistics.layers().find(|layer| layer.name() == "Checksum").unwrap();
        assert_eq!(checksum.drops().map(|it| it.reason).collect::<Vec<_>>(), ["damaged"]);
        // The state of a layer goes with the connection, and the statistics stay.
        drop((client, server));
        assert!(statistics.to_string().contains("Reliable: rtt "), "{statistics}");
    });
}

#[test]
fn a_receiver_that_does_not_receive_is_seen_at_both_ends() {
    let mut sim = Sim::new(2);
    let network = sim.network().clone();
    sim.run(async {
        let stack = make_stack!(Reliable::new().buffer(1 << 20, 64));
        let (client, server) = connected(&network, stack).await;
        let sending = async {
            loop {
                client.send(message(100)).await.unwrap();
            }
        };
        let late = network.runtime().sleep(Duration::from_secs(5));
        futures_util::future::select(std::pin::pin!(sending), std::pin::pin!(late)).await;
        let here = reliable(&client.statistics());
        let there = reliable(&server.statistics());
        assert!(here.is_held_by_peer && here.to_send_messages > 0, "{here:?}");
        assert!(there.to_receive_messages >= 64, "{there:?}");
        assert_eq!((here.packets_lost, here.is_cut), (0, false));
    });
}

#[test]
fn loss_is_seen_as_loss() {
    let mut sim = Sim::new(3);
    let network = sim.network().clone();
    network.set_link(Link { loss: 0.05, ..Link::default() });
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Reliable::new())).await;
        for _ in 0..500 {
            client.send(message(1000)).await.unwrap();
            server.recv().await.unwrap();
        }
        let lossy = reliable(&client.statistics());
        assert!(lossy.packets_lost > 5 && lossy.messages_repeated > 5, "{lossy:?}");
        assert!(!lossy.is_held_by_peer && !lossy.is_cut, "{lossy:?}");
    });
}

#[test]
fn layers_above_tell_what_they_hold() {
    let mut sim = Sim::new(4);
    let network = sim.network().clone();
    sim.run(async {
        let stack = make_stack!(Ordered::new().capacity(100), Fragment::new(), Reliable::new());
        let (client, server) = connected(&network, stack).await;
        client.send(message(10_000)).await.unwrap();
        server.recv().await.unwrap();
        let statistics = server.statistics();
        let ordered: &OrderedStatistics = statistics.get().unwrap();
        assert_eq!((ordered.held_back, ordered.capacity), (0, 100));
        let fragment: &FragmentStatistics = statistics.get().unwrap();
        assert_eq!((fragment.incomplete_messages, fragment.piece, fragment.path_mtu), (0, 1_300, None));
        let names: Vec<_> = statistics.layers().map(Layer::name).collect();
        assert_eq!(names, ["Ordered", "Fragment", "Reliable", "Link"]);
    });
}

#[test]
fn the_path_that_fragment_discovers_is_told() {
    let mut sim = Sim::new(5);
    let network = sim.network().clone();
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Fragment::new().discover_path())).await;
        let receiving = async { while client.recv().await.is_ok() {} };
        let answering = async { while server.recv().await.is_ok() {} };
        let both = futures_util::future::join(receiving, answering);
        let late = network.runtime().sleep(Duration::from_secs(5));
        futures_util::future::select(std::pin::pin!(both), std::pin::pin!(late)).await;
        let fragment: FragmentStatistics = *client.statistics().get().unwrap();
        assert!(fragment.path_mtu.is_some_and(|mtu| mtu > 1_200), "{fragment:?}");
    });
}

#[test]
fn quic_tells_loss_and_a_receiver_that_does_not_receive() {
    let mut sim = Sim::new(6);
    let network = sim.network().clone();
    network.set_link(Link { loss: 0.05, ..Link::default() });
    let hosts =
        Hosts { client: network.host(CLIENT), server: network.host(SERVER), network: network.clone() };
    sim.run(async {
        let subject = Subject::new("server");
        let (client, server) = hosts.connect(subject.client(), subject.server()).await;
        for _ in 0..500 {
            client.send(message(1000)).await.unwrap();
            server.recv().await.unwrap();
        }
        let lossy: QuicStatistics = *client.statistics().get().unwrap();
        assert!(lossy.packets_lost > 5 && lossy.bytes_lost > 5_000 && lossy.packets_sent > 500, "{lossy:?}");
        assert!(lossy.window > 0 && lossy.rtt > Duration::ZERO && lossy.congestion_events > 0, "{lossy:?}");
        assert_eq!((lossy.packet, lossy.to_send_messages, lossy.blocked), (1_352, 0, 0));

        network.set_link(Link::default());
        let sending = async {
            loop {
                client.send(message(20_000)).await.unwrap();
            }
        };
        let late = network.runtime().sleep(Duration::from_secs(60));
        futures_util::future::select(std::pin::pin!(sending), std::pin::pin!(late)).await;
        let here: QuicStatistics = *client.statistics().get().unwrap();
        let there: QuicStatistics = *server.statistics().get().unwrap();
        assert_eq!((here.to_send_messages, there.to_receive_messages), (256, 256), "{here:?} {there:?}");
        assert!(here.blocked > 0, "{here:?}");
        // The state of a layer goes with the connection.
        let statistics = client.statistics();
        drop((client, server));
        assert!(statistics.to_string().contains("Quic: rtt "), "{statistics}");
    });
}
