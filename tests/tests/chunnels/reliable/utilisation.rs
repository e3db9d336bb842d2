//! The share of a link that a connection uses, and the length of the queue that it makes, on the links of the
//! thesis, chapter 4.

use super::reference::{self, Path, Rules};
use bertha_chunnels::Reliable;
use bertha_chunnels::congestion::{Algorithm, Bbr, Cubic, NewReno};
use bertha_core::{Addr, Buf, Connection, Datapath, Listener, Wrap};
use bertha_datapath_sim::{Bottleneck, Link, Network, Schedule, Sim};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

const CLIENT: [u8; 4] = [10, 0, 0, 1];
const SERVER: [u8; 4] = [10, 0, 0, 2];

/// A packet of [`PACKET`] bytes has 15 bytes of header, more or less.
const MESSAGE: usize = 1_337;
const PACKET: usize = 1_352;

/// A link with a queue of one bandwidth-delay product.
#[derive(Debug, Clone, Copy)]
struct Site {
    megabits: f64,
    round_trip: Duration,
    loss: f64,
    /// Time for which the link is used. Measuring begins after a fifth of this time.
    time: Duration,
}

const fn site(megabits: f64, round_trip_ms: u64, loss: f64, seconds: u64) -> Site {
    let (round_trip, time) = (Duration::from_millis(round_trip_ms), Duration::from_secs(seconds));
    Site { megabits, round_trip, loss, time }
}

impl Site {
    fn rate(&self) -> f64 {
        self.megabits * 1e6 / 8.0
    }

    fn queue(&self) -> f64 {
        self.rate() * self.round_trip.as_secs_f64()
    }

    fn reference(&self, rules: Rules, seed: u64) -> f64 {
        let path = Path {
            packets_per_second: self.rate() / PACKET as f64,
            round_trip: self.round_trip.as_secs_f64(),
            queue: self.queue() / PACKET as f64,
            loss: self.loss,
        };
        let time = self.time.as_secs_f64();
        reference::utilisation(rules, path, time / 5.0, time, seed)
    }
}

/// The share of the link that was used, and the mean delay in its queue.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    utilisation: f64,
    queueing: Duration,
}

fn run(algorithm: impl Algorithm, site: Site, seed: u64) -> Outcome {
    let mut sim = Sim::new(seed).schedule(Schedule::Fifo).step_limit(u64::MAX);
    let network = sim.network().clone();
    let delay = site.round_trip / 2;
    let bottleneck = Bottleneck { rate: site.rate() as u64, queue: site.queue() as u64 };
    let out = Link { delay, loss: site.loss, bottleneck: Some(bottleneck), ..Link::default() };
    network.set_link_between(CLIENT, SERVER, out);
    network.set_link_between(SERVER, CLIENT, Link { delay, ..Link::default() });
    sim.run(transfer(network, Reliable::new().with(algorithm).packet(PACKET), site))
}

async fn transfer(network: Network, stack: Reliable, site: Site) -> Outcome {
    let listener = network.host(SERVER).listen(Addr::Ip((SERVER, 7).into())).await.unwrap();
    let client = network.host(CLIENT).connect(listener.local_addr()).await.unwrap();
    let client = stack.wrap(client).await.unwrap();
    client.send(Buf::new(8, 0).unwrap()).await.unwrap();
    let server = stack.wrap(listener.accept().await.unwrap()).await.unwrap();
    let received = Arc::new(AtomicU64::new(0));
    let sending = async {
        loop {
            client.send(Buf::new(MESSAGE, 0).unwrap()).await.unwrap();
        }
    };
    let receiving = async {
        let mut burst = Vec::new();
        loop {
            server.recv_batch(&mut burst, 64).await.unwrap();
            received.fetch_add(burst.len() as u64, Relaxed);
            burst.clear();
        }
    };
    let measuring = async {
        let runtime = network.runtime();
        runtime.sleep(site.time / 5).await;
        let before = received.load(Relaxed);
        let (mut queueing, mut samples) = (Duration::ZERO, 0);
        while runtime.elapsed() < site.time {
            runtime.sleep(Duration::from_millis(5)).await;
            queueing += network.queueing_delay(CLIENT, SERVER);
            samples += 1;
        }
        let bytes = (received.load(Relaxed) - before) * PACKET as u64;
        let utilisation = bytes as f64 / site.rate() / (site.time * 4 / 5).as_secs_f64();
        Outcome { utilisation, queueing: queueing / samples }
    };
    tokio::select! {
        outcome = measuring => outcome,
        () = sending => unreachable!("it sends for ever"),
        () = receiving => unreachable!("it receives for ever"),
    }
}

/// Returns the mean over several seeds if the link has random loss.
fn mean(site: Site, one: impl Fn(u64) -> f64) -> f64 {
    let seeds = if site.loss > 0.001 { 8 } else { 1 };
    (1..=seeds).map(one).sum::<f64>() / seeds as f64
}

#[expect(clippy::print_stdout, reason = "the figures, for whoever asks with --nocapture")]
fn compare(site: Site) {
    let reno = mean(site, |seed| run(NewReno, site, seed).utilisation);
    let expected = mean(site, |seed| site.reference(Rules::NewReno, seed));
    println!("{site:?}\n  NewReno {reno:.3}, reference {expected:.3}");
    assert!(reno >= 0.95 * expected, "NewReno uses {reno:.3} of {site:?}, the reference {expected:.3}");

    let cubic = mean(site, |seed| run(Cubic, site, seed).utilisation);
    let expected = mean(site, |seed| site.reference(Rules::cubic(), seed));
    println!("  Cubic   {cubic:.3}, reference {expected:.3}");
    assert!(cubic >= 0.95 * expected, "Cubic uses {cubic:.3} of {site:?}, the reference {expected:.3}");

    let bbr = run(Bbr, site, 1);
    let queueing = run(Cubic, site, 1).queueing;
    println!("  BBR     {:.3}, queue {:?}, Cubic's {queueing:?}", bbr.utilisation, bbr.queueing);
    assert!(bbr.utilisation >= 0.9, "BBR uses {:.3} of {site:?}", bbr.utilisation);
    // Where chance keeps Cubic from filling the queue, there is no queue to halve.
    if site.loss == 0.0 {
        assert!(bbr.queueing * 2 <= queueing, "BBR queues {:?}, Cubic {queueing:?}", bbr.queueing);
    }
}

#[test]
fn at_12_megabits_and_20_ms() {
    compare(site(12.0, 20, 0.0, 30));
}

#[test]
fn at_12_megabits_and_20_ms_with_a_ten_thousandth_lost() {
    compare(site(12.0, 20, 0.0001, 30));
}

#[test]
fn at_12_megabits_and_20_ms_with_a_fiftieth_lost() {
    compare(site(12.0, 20, 0.02, 30));
}

#[test]
fn at_96_megabits_and_20_ms() {
    compare(site(96.0, 20, 0.0, 10));
}

#[test]
fn at_48_megabits_and_100_ms() {
    compare(site(48.0, 100, 0.0, 25));
}
