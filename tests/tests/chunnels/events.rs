//! Events of `tracing` tell why a connection is slow or gone. The guide `observing` lists them.

use crate::ends::{CLIENT, SERVER, connected};
use crate::lines::Lines;
use bertha_chunnels::{Checksum, Fragment, Reliable};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Link, Sim, Verdict};
use bertha_negotiation::Negotiate;
use futures_util::future::{join, select};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

fn message(len: usize) -> Buf {
    Buf::copy_of(&vec![7; len], 64).unwrap()
}

#[test]
fn reliable_tells_losses_probes_a_slow_reader_and_its_end() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(3);
    let network = sim.network().clone();
    network.set_link(Link { loss: 0.05, ..Link::default() });
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Reliable::new().buffer(1 << 20, 64))).await;
        for _ in 0..500 {
            client.send(message(1_000)).await.unwrap();
            server.recv().await.unwrap();
        }
        network.set_link(Link::default());
        assert!(lines.with(&["the peer's grant is used up"]).is_empty(), "the peer receives");
        {
            let sending = async {
                loop {
                    client.send(message(100)).await.unwrap();
                }
            };
            select(pin!(sending), pin!(network.runtime().sleep(Duration::from_secs(5)))).await;
        }
        for _ in 0..64 {
            server.recv().await.unwrap();
        }
        network.runtime().sleep(Duration::from_secs(1)).await;
        network.set_link(Link { loss: 1.0, ..Link::default() });
        while client.recv().await.is_ok() {}
    });
    let told = |texts: &[&str]| lines.expect(&[&["bertha::reliable: ", "peer=10.0.0.2:"], texts].concat());
    told(&["TRACE", "packets are lost or marked", "lost=1", "window_before=", "window="]);
    told(&["TRACE", "the peer's grant is used up"]);
    told(&["TRACE", "the peer grants more messages", "held="]);
    told(&["DEBUG", "so the peer is probed", "in_a_row=2"]);
    let ends = lines.with(&["DEBUG", "bertha::reliable", "the connection ends", "reason=", "peer=10.0.0.2:"]);
    assert_eq!(ends.len(), 1, "{ends:#?}");
    assert!(!ends[0].contains("lost=0 ") && ends[0].contains("nothing was heard"), "{ends:#?}");
}

#[test]
fn fragment_tells_the_size_that_the_path_carries() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    network.set_link(Link { mtu: 9_000, delay: Duration::from_millis(10), ..Link::default() });
    let carries = Arc::new(AtomicUsize::new(1_472));
    let limit = carries.clone();
    network.tap(move |datagram| match datagram.payload.len() <= limit.load(Relaxed) {
        true => Verdict::Pass,
        false => Verdict::Drop,
    });
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Fragment::new().discover_path())).await;
        let receiving = join(async { while client.recv().await.is_ok() {} }, async {
            while server.recv().await.is_ok() {}
        });
        let sending = async {
            for second in 0..60 {
                if second == 20 {
                    carries.store(1_300, Relaxed);
                }
                client.send(message(2_000)).await.unwrap();
                network.runtime().sleep(Duration::from_secs(1)).await;
            }
        };
        select(pin!(receiving), pin!(sending)).await;
    });
    let told = |texts: &[&str]| {
        lines.expect(&[&["DEBUG", "bertha::fragment: ", "peer=10.0.0.2:"], texts].concat());
    };
    told(&["the path carries larger messages", "size=1472"]);
    told(&["they become shorter", "before=1472", "size=1200"]);
}

#[test]
fn negotiation_tells_agreements_refusals_and_silent_peers_with_the_address() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    sim.run(async {
        let (client, _server) = connected(&network, make_stack!(Checksum::new())).await;
        let other = make_stack!(Reliable::new()).listen(network.host(SERVER), (SERVER, 0)).await;
        let mut incoming = other.unwrap();
        let to = incoming.local_addr();
        let stack = make_stack!(Checksum::new());
        let refused = stack.connect(network.host(CLIENT), to).into_future();
        let (refused, at_server) = join(refused, incoming.next_or_refusal()).await;
        assert!(refused.is_err() && at_server.unwrap().is_err());
        network.set_link(Link { loss: 1.0, ..Link::default() });
        while client.recv().await.is_ok() {}
    });
    let told = |texts: &[&str]| lines.expect(&[&["DEBUG", "bertha::negotiation: "], texts].concat());
    told(&["connected", "agreement=Checksum", "peer=10.0.0.2:"]);
    told(&["accepted", "agreement=Checksum", "peer=10.0.0.1:"]);
    told(&["refused an offer", "peer=10.0.0.1:", "error="]);
    told(&["nothing was agreed", "to=10.0.0.2:", "error="]);
    told(&["a connection ends", "reason=TimedOut", "peer=10.0.0.2:"]);
}

/// The path carries large packets, then none of them without a report, and then large packets again.
#[test]
fn reliable_tells_a_black_hole_with_the_size_that_still_arrives() {
    let (lines, _guard) = Lines::capture();
    let mut sim = Sim::new(1);
    let network = sim.network().clone();
    network.set_link(Link { delay: Duration::from_millis(10), ..Link::default() });
    let carries = Arc::new(AtomicUsize::new(9_000));
    let limit = carries.clone();
    network.tap(move |datagram| match datagram.payload.len() <= limit.load(Relaxed) {
        true => Verdict::Pass,
        false => Verdict::Drop,
    });
    let told =
        |texts: &[&str]| lines.with(&[&["DEBUG bertha::reliable: ", "peer=10.0.0.2:"], texts].concat());
    let (lost, arrived) =
        ("the path loses all large packets, which leave in pieces now", "so large packets leave whole again");
    sim.run(async {
        let (client, server) = connected(&network, make_stack!(Reliable::new())).await;
        let exchange = async |messages: usize| {
            for _ in 0..messages {
                client.send(message(1_300)).await.unwrap();
                server.recv().await.unwrap();
            }
        };
        exchange(10).await;
        assert_eq!(told(&[lost]).len(), 0, "the path carries them");
        carries.store(1_280, Relaxed);
        exchange(50).await;
        let found = told(&[lost]);
        assert_eq!(found.len(), 1, "{found:#?}");
        let safe = found[0].split_once(" safe=").unwrap().1.split(' ').next().unwrap();
        assert!((1_000..=1_280).contains(&safe.parse::<usize>().unwrap()), "{found:#?}");
        assert_eq!(told(&[arrived]).len(), 0);
        // Large packets are tried again after ten minutes.
        carries.store(9_000, Relaxed);
        network.runtime().sleep(Duration::from_secs(601)).await;
        exchange(10).await;
        assert_eq!((told(&[lost]).len(), told(&[arrived]).len()), (1, 1));
    });
}
