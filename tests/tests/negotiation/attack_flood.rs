//! Floods of replayed offers and of silent streams, beside which honest clients connect.

use crate::counting::Counting;
use crate::scene::{A, SERVER, bytes, echo, server_addr, simulate};
use bertha_core::{Connection, Datapath, Runtime, make_stack};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Settings, SharedKey};
use bertha_tests::with_seeds;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// How the flooder goes about it.
#[derive(Debug, Clone, Copy)]
struct Flood {
    per_second: u32,
    lasts: Duration,
    /// Whether all its addresses are neighbours of an honest client.
    is_near: bool,
}

/// None, a shared key, identities, both: of client and server.
fn credentials() -> [[Credentials; 2]; 4] {
    let (ours, theirs) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
    let shared = || Credentials::shared(SharedKey::new([3; 32]));
    let [client, server] = [ours.public(), theirs.public()];
    let identities = |from: [Credentials; 2]| {
        let [at_client, at_server] = from;
        [
            at_client.identity(ours.clone()).trusting([server]),
            at_server.identity(theirs.clone()).trusting([client]),
        ]
    };
    let none = || [Credentials::default(), Credentials::default()];
    [none(), [shared(), shared()], identities(none()), identities([shared(), shared()])]
}

/// With the default places, or so few.
fn with(credentials: &Credentials, slots: Option<usize>) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials.clone();
    if let Some(slots) = slots {
        settings.concurrent_handshakes = slots;
        settings.unproven_clients = slots / 8;
    }
    settings
}

/// An address of the flooder.
fn address(flood: Flood, number: u32) -> SocketAddr {
    let [_, high, middle, low] = number.to_be_bytes();
    let port = 1000 + u16::from(high);
    match flood.is_near {
        true => SocketAddr::from(([10, 1, 1, low.max(100)], 1000 + (number % 60_000) as u16)),
        false => SocketAddr::from(([100, high, middle, low], port)),
    }
}

/// An honest client's offer, which never arrives.
async fn recorded(network: &Network, credentials: &Credentials) -> Vec<u8> {
    let said = Arc::new(Mutex::new(Vec::new()));
    let listen = said.clone();
    network.tap(move |datagram| {
        listen.lock().unwrap().push(datagram.payload.clone());
        Verdict::Drop
    });
    let mut settings = with(credentials, None);
    settings.handshake_timeout = Duration::from_millis(50);
    let stack = make_stack!(A);
    let connecting = stack.connect(network.host([10, 3, 0, 1]), server_addr()).settings(settings);
    assert!(connecting.await.is_err());
    network.untap();
    std::mem::take(&mut *said.lock().unwrap()).swap_remove(0)
}

/// The number of honest clients that got an echo within a second, of all.
#[derive(Debug, Default)]
struct Honest {
    served: usize,
    all: usize,
}

/// Connects from one of these networks, and talks.
fn come(network: &Network, datapath: SimDatapath, settings: Settings, honest: &Arc<Mutex<Honest>>) {
    let runtime = network.runtime().clone();
    let (clock, honest) = (runtime.clone(), honest.clone());
    honest.lock().unwrap().all += 1;
    std::mem::forget(runtime.spawn(async move {
        let before = clock.now();
        let stack = make_stack!(A);
        let Ok(connection) = stack.connect(datapath, server_addr()).settings(settings).await else { return };
        if connection.send(bytes(b"hello")).await.is_err() {
            return;
        }
        let is_served = connection.recv().await.is_ok_and(|reply| *reply == *b"hello");
        if is_served && clock.now() - before <= Duration::from_secs(1) {
            honest.lock().unwrap().served += 1;
        }
        let _ = connection.close().await;
    }));
}

/// The honest clients and the most connections that the server held.
async fn run(
    network: &Network,
    streams: bool,
    kind: &[Credentials; 2],
    slots: Option<usize>,
    flood: Flood,
    mut strike: impl AsyncFnMut(u32),
) -> (Honest, usize) {
    let [ours, theirs] = kind;
    let host = |ip: [u8; 4]| {
        let host = network.host(ip);
        if streams { host.streams() } else { host }
    };
    let serving = Counting::new(host(SERVER));
    let held = serving.held();
    let listening = make_stack!(A).listen(serving, server_addr()).settings(with(theirs, slots));
    echo(network, listening.await.unwrap(), |_| {});
    let honest = Arc::new(Mutex::new(Honest::default()));
    let runtime = network.runtime();
    let (start, mut struck, mut most) = (runtime.now(), 0, 0);
    for millisecond in 0_u32.. {
        let elapsed = runtime.now() - start;
        if elapsed >= flood.lasts {
            break;
        }
        while f64::from(struck) < elapsed.as_secs_f64() * f64::from(flood.per_second) {
            strike(struck).await;
            struck += 1;
        }
        // Once the flood has done its work.
        if elapsed > flood.lasts / 4 && millisecond % 4 == 0 {
            let from = [10, (millisecond % 3) as u8, 1, 1 + (millisecond % 90) as u8];
            come(network, host(from), with(ours, None), &honest);
        }
        runtime.sleep(Duration::from_millis(1)).await;
        most = most.max(held.count());
    }
    runtime.sleep(Duration::from_secs(2)).await;
    let honest = std::mem::take(&mut *honest.lock().unwrap());
    (honest, most)
}

fn check(seed: u64, what: &str, (honest, most): (Honest, usize), bound: usize) {
    let Honest { served, all } = honest;
    assert!(all >= 50, "{all} came");
    assert!(served * 100 >= all * 99, "seed {seed}, {what}: {served} of {all} were served");
    assert!(most <= bound, "seed {seed}, {what}: {most} were held, more than {bound}");
}

#[test]
fn replayed_offers_keep_nobody_out() {
    let slow = |is_near| Flood { per_second: 200, lasts: Duration::from_millis(2500), is_near };
    let fast = |is_near| Flood { per_second: 20_000, lasts: Duration::from_millis(300), is_near };
    with_seeds(2, |seed| {
        for (number, kind) in credentials().iter().enumerate() {
            for flood in [slow(false), slow(true), fast(false), fast(true)] {
                let what = format!("credentials {number}, {flood:?}");
                let slots = if seed.is_multiple_of(2) { None } else { Some(64) };
                let result = simulate(seed, async |network: Network| {
                    network.answer_closed_ports(false);
                    let offer = recorded(&network, &kind[0]).await;
                    let to = server_addr().ip("flood").unwrap();
                    let inject = network.clone();
                    let strike = async |struck| {
                        let from = address(flood, struck);
                        inject.inject(&Datagram { from, to, payload: offer.clone() }).unwrap();
                    };
                    run(&network, false, kind, slots, flood, strike).await
                });
                // And some honest ones.
                check(seed, &what, result, slots.unwrap_or(256) / 8 + 80);
            }
        }
    });
}

#[test]
fn silent_streams_keep_nobody_out() {
    with_seeds(2, |seed| {
        for (number, kind) in credentials().iter().enumerate() {
            for (per_second, is_near) in [(40, false), (40, true), (400, false), (400, true), (2000, false)] {
                let lasts = Duration::from_secs(if per_second > 1000 { 1 } else { 4 });
                let flood = Flood { per_second, lasts, is_near };
                let what = format!("credentials {number}, {flood:?}");
                let slots = if seed.is_multiple_of(2) { None } else { Some(64) };
                let result = simulate(seed, async |network: Network| {
                    let mut silent = Vec::new();
                    let attack = network.clone();
                    let tasks = network.runtime().clone();
                    let kept = Arc::new(Mutex::new(Vec::new()));
                    let strike = async |struck| {
                        let datapath = attack.host(address(flood, struck).ip()).streams();
                        let kept = kept.clone();
                        silent.push(tasks.spawn(async move {
                            if let Ok(connection) = datapath.connect(server_addr()).await {
                                kept.lock().unwrap().push(connection);
                            }
                        }));
                    };
                    run(&network, true, kind, slots, flood, strike).await
                });
                check(seed, &what, result, slots.unwrap_or(1024) + 80);
            }
        }
    });
}

/// With addresses of its own the flooder returns cookies. It gets no further than its part of the places.
#[test]
fn an_attacker_that_returns_cookies_keeps_nobody_else_out() {
    with_seeds(2, |seed| {
        for (number, kind) in credentials().iter().enumerate() {
            let flood = Flood { per_second: 2000, lasts: Duration::from_millis(500), is_near: false };
            let result = simulate(seed, async |network: Network| {
                let attack = network.clone();
                let tasks = network.runtime().clone();
                let at_client = kind[0].clone();
                let kept = Arc::new(Mutex::new(Vec::new()));
                // Its clients follow the protocol, but for their confirmation.
                network.tap(|datagram| {
                    let is_confirmation = datagram.payload[0] == 8
                        && datagram.from.ip() == std::net::Ipv4Addr::new(100, 0, 0, 9);
                    if is_confirmation { Verdict::Drop } else { Verdict::Pass }
                });
                let strike = async |_| {
                    let (datapath, settings) = (attack.host([100, 0, 0, 9]), with(&at_client, None));
                    let kept = kept.clone();
                    std::mem::forget(tasks.spawn(async move {
                        let stack = make_stack!(A);
                        let connected = stack.connect(datapath, server_addr()).settings(settings).await;
                        kept.lock().unwrap().extend(connected);
                    }));
                };
                run(&network, false, kind, Some(256), flood, strike).await
            });
            // Without credentials each has an address of its own, and is let in.
            let bound = if number == 0 { usize::MAX } else { 256 + 256 / 8 + 80 };
            check(seed, &format!("credentials {number}"), result, bound);
        }
    });
}
