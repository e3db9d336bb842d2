//! How much of a path that loses, delays and reorders packets a connection uses.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests panic to fail, and print figures")]

use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic, NewReno};
use bertha_chunnels::reliable::ReliableStatistics;
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_sim::{Bottleneck, Link, Schedule, Sim};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// 160 Mbit/s, in both directions of a path.
const RATE: u64 = 20_000_000;

/// A path with the same faults both ways.
fn bad(loss: f64, reordering: f64, jitter_ms: u64) -> Link {
    Link {
        loss,
        reordering,
        detour: Duration::from_millis(20),
        jitter: Duration::from_millis(jitter_ms),
        delay: Duration::from_micros(200),
        bottleneck: Some(Bottleneck { rate: RATE, queue: 1_000_000 }),
        ..Link::default()
    }
}

/// The share of the path's rate that arrives in `seconds`, and what the sender counted.
fn share(reliable: Reliable, link: Link, seconds: u64, seed: u64) -> (f64, ReliableStatistics) {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    network.set_link(link);
    sim.run(async move {
        let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
        let client = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
        let client = reliable.wrap(client).await.unwrap();
        client.send(Buf::new(8, 0).unwrap()).await.unwrap();
        let server = reliable.wrap(listener.accept().await.unwrap()).await.unwrap();
        let mut received = 0;
        let sending = async {
            loop {
                client.send(Buf::new(1_337, 0).unwrap()).await.unwrap();
            }
        };
        let receiving = async {
            let mut burst = Vec::new();
            loop {
                server.recv_batch(&mut burst, 64).await.unwrap();
                received += burst.drain(..).map(|message| message.len() as u64).sum::<u64>();
            }
        };
        tokio::select! {
            () = sending => {}
            () = receiving => {}
            () = network.runtime().sleep(Duration::from_secs(seconds)) => {}
        }
        (received as f64 / (RATE * seconds) as f64, client.statistics())
    })
}

/// The mean share over some seeds.
fn mean(reliable: &Reliable, link: Link) -> f64 {
    const SEEDS: u64 = 3;
    (1..=SEEDS).map(|seed| share(reliable.clone(), link, 4, seed).0).sum::<f64>() / SEEDS as f64
}

/// Half a percent of all packets is lost, which allows NewReno 1.22 packets per round trip and root of the loss (RFC 5348): 1.2 MB/s of
/// these packets in 20 ms. Packets overtaken by later ones must not count as lost besides: that leaves 0.15 MB/s.
#[test]
fn packets_that_are_late_do_not_count_as_lost() {
    for (name, reliable) in [
        ("NewReno", Reliable::new().with(NewReno)),
        ("Cubic", Reliable::new().with(Cubic)),
        ("BBR", Reliable::new().with(Bbr)),
    ] {
        let rate = mean(&reliable, bad(0.005, 0.01, 20)) * RATE as f64 / 1e6;
        println!("{name}: {rate:.2} MB/s");
        assert!(rate >= 0.8, "{name} sends {rate:.2} MB/s over a path that loses, delays and reorders");
    }
}

/// BBR, which runs unless another is chosen, does not slow down for packets that chance takes; and the time for which packets are in flight is not that of the quick ones,
/// which are a few milliseconds on their way where most take twenty.
#[test]
fn bbr_uses_a_path_that_delays_packets_by_chance() {
    for (loss, reordering) in [(0.0, 0.0), (0.005, 0.01), (0.02, 0.02)] {
        let (share, _) = share(Reliable::new(), bad(loss, reordering, 20), 2, 1);
        let rate = share * RATE as f64 / 1e6;
        println!("{loss} lost, {reordering} reordered: {rate:.2} MB/s");
        assert!(
            rate >= 10.0,
            "BBR sends {rate:.2} MB/s where 20 fit, with {loss} lost and {reordering} reordered"
        );
    }
}

/// Loss by chance, up to one packet of fifty, leaves BBR nine tenths of the link itself.
#[test]
fn bbr_uses_a_link_that_keeps_packets_in_order() {
    for loss in [0.0, 0.02] {
        let bottleneck = Some(Bottleneck { rate: 1_500_000, queue: 30_000 });
        let link = Link { loss, delay: Duration::from_millis(10), bottleneck, ..Link::default() };
        let (share, counted) = share(Reliable::new().with(Bbr), link, 8, 1);
        let used = share * RATE as f64 / 1.5e6;
        println!("{loss} lost: {used:.3} of the link");
        assert!(used >= 0.9, "BBR uses {used:.3} of a link that loses {loss}: {counted:?}");
    }
}

/// One packet of a hundred is overtaken by others, and none is lost. A packet is late by five milliseconds at most: one that is later than
/// the time after which the loss of all packets means persistent congestion counts as lost, which is some ten milliseconds here.
#[test]
fn a_path_that_only_reorders_loses_nothing() {
    let link = Link { detour: Duration::from_millis(5), ..bad(0.0, 0.01, 0) };
    for seed in 1..=4 {
        let (share, counted) = share(Reliable::new().with(Cubic), link, 1, seed);
        println!("{seed}: {share:.2} of the rate, {counted:?}");
        assert!(share >= 0.95, "{share:.2} of the rate is used: {counted:?}");
        assert!(counted.packets_lost * 1_000 <= counted.packets_sent, "{counted:?}");
    }
}
