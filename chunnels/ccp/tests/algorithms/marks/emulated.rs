//! Over an emulated link of 12 Mbit/s and 20 ms that marks above ten packets, and has room for four bandwidth-delay products.

use super::{dctcp, stop};
use bertha_ccp::{Refused, Signal, SignalSet};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Bbr, Cubic};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Runtime, Wrap};
use bertha_datapath_sim::{Emulator, Link, Path, Rate, Schedule, Sim};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

const PACKET: usize = 1_352;
const SECONDS: u64 = 6;

#[derive(Debug)]
struct Seen {
    /// The share of the link that messages use after the first second.
    share: f64,
    /// The mean queue in packets after the first second.
    queue: f64,
    /// Number of packets that the link marked; `told` is the number that the peer reported, and `dropped` the
    /// number that the link dropped.
    marked: u64,
    told: u64,
    dropped: u64,
}

fn flow(client: Reliable, server: Reliable) -> Seen {
    flows(1, client, server)
}

/// Runs some flows beside each other. The packets that peers reported are those of the first flow.
fn flows(count: usize, client: Reliable, server: Reliable) -> Seen {
    let (client_host, server_host) = ([10, 0, 0, 1], [10, 0, 0, 2]);
    let mut sim = Sim::new(3).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    let path = Path::new(Rate::fixed(1_500_000), Duration::from_millis(10)).buffered(4.0);
    let path = Path { marks_above: Some(10 * PACKET as u64), ..path };
    network.set_link_between(client_host, server_host, Link { delay: Duration::ZERO, ..Link::default() });
    network.set_link_between(server_host, client_host, Link { delay: path.delay, ..Link::default() });
    network.emulate([(client_host, server_host)], Emulator::new(path, 3));
    sim.run(async move {
        let runtime = network.runtime();
        let listener = network.host(server_host).listen(Addr::Ip((server_host, 7).into())).await.unwrap();
        let received = Arc::new(AtomicUsize::new(0));
        let (mut clients, mut running) = (Vec::new(), Vec::new());
        for _ in 0..count {
            let base = network.host(client_host).connect(listener.local_addr()).await.unwrap();
            let client = Arc::new(client.clone().packet(PACKET).wrap(base).await.unwrap());
            client.send(Buf::new(8, 0).unwrap()).await.unwrap();
            let base = listener.accept().await.unwrap();
            let server = server.clone().packet(PACKET).wrap(base).await.unwrap();
            let (sender, received) = (Arc::clone(&client), Arc::clone(&received));
            running.push(
                runtime.spawn(async move { while sender.send(Buf::new(1_337, 0).unwrap()).await.is_ok() {} }),
            );
            running.push(runtime.spawn(async move {
                while let Ok(message) = server.recv().await {
                    received.fetch_add(message.len(), Ordering::Relaxed);
                }
            }));
            clients.push(client);
        }
        let start = runtime.now() + Duration::from_secs(1);
        let end = start + Duration::from_secs(SECONDS - 1);
        runtime.sleep_until(start).await;
        let before = received.load(Ordering::Relaxed);
        let (mut queueing, mut samples) = (Duration::ZERO, 0);
        while runtime.now() < end {
            runtime.sleep_until(runtime.now() + Duration::from_millis(1)).await;
            queueing += network.queueing_delay(client_host, server_host);
            samples += 1;
        }
        let received = received.load(Ordering::Relaxed) - before;
        let counters = network.counters();
        Seen {
            share: received as f64 / (1_500_000 * (SECONDS - 1)) as f64,
            queue: (queueing / samples).as_secs_f64() * 1_500_000.0 / PACKET as f64,
            marked: counters.marked,
            told: clients[0].statistics().packets_marked,
            dropped: counters.queue_full,
        }
    })
}

#[test]
fn dctcp_keeps_the_queue_at_the_threshold() {
    let (ccp, agent) = dctcp();
    let seen = flow(Reliable::new().ecn().with(ccp.clone()), Reliable::new().ecn());
    assert_eq!(ccp.datapath().refusals(), []);
    stop(agent);
    assert!(seen.share > 0.93 && seen.queue < 15.0 && seen.dropped == 0, "{seen:?}");
    // The marks of the last round trip are not reported yet.
    assert!(seen.told > 50 && seen.told <= seen.marked && seen.told + 40 > seen.marked, "{seen:?}");
}

#[test]
fn cubic_answers_marks_before_anything_is_dropped() {
    let seen = flow(Reliable::new().ecn().with(Cubic), Reliable::new().ecn());
    assert!(seen.share > 0.85 && seen.dropped == 0 && seen.told > 0, "{seen:?}");
    let without = flow(Reliable::new().with(Cubic), Reliable::new());
    assert!(without.marked == 0 && without.dropped > 0 && without.queue > 2.0 * seen.queue, "{without:?}");
}

/// Two flows of BBR hold a queue of a bandwidth-delay product, 22 packets, since each flow counts the other's
/// packets in its own rate.
#[test]
fn flows_of_bbr_answer_marks() {
    let seen = flows(2, Reliable::new().ecn().with(Bbr), Reliable::new().ecn());
    let without = flows(2, Reliable::new().with(Bbr), Reliable::new());
    println!("{seen:?}, {without:?}");
    assert!(seen.share > 0.9 && seen.dropped == 0 && seen.told > 0, "{seen:?}");
    assert!(without.queue > 15.0 && seen.queue < 11.0, "{seen:?}, {without:?}");
}

#[test]
fn with_one_end_alone_packets_go_unmarked() {
    let seen = flow(Reliable::new().ecn().with(Cubic), Reliable::new());
    // Only packets before the first acknowledgement could be marked.
    assert!(seen.marked <= 10 && seen.told == 0 && seen.dropped > 0, "{seen:?}");
    let seen = flow(Reliable::new().with(Cubic), Reliable::new().ecn());
    assert!(seen.marked == 0 && seen.told == 0 && seen.dropped > 0, "{seen:?}");
}

#[test]
fn without_marks_dctcp_is_refused_by_name() {
    let (ccp, agent) = dctcp();
    let seen = flow(Reliable::new().with(ccp.clone()), Reliable::new());
    let refusals = ccp.datapath().refusals();
    stop(agent);
    let missing = Refused::MissingSignals(SignalSet::default().with(Signal::EcnPackets));
    assert!(refusals.iter().any(|refusal| refusal.reason == missing), "{refusals:?}");
    // NewReno goes on.
    assert!(seen.share > 0.9 && seen.marked == 0, "{seen:?}");
}
