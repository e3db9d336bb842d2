//! Floods of replayed offers and of silent streams, beside which honest clients connect.

use crate::scene::{A, SERVER, echo, server_addr, simulate};
use crate::siege::{Flood, Siege, address, check, credentials, recorded, with};
use bertha_core::{Bottom, Datapath, Runtime, Stack, make_stack};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{Credentials, Negotiate};
use bertha_tests::with_seeds;
use std::sync::{Arc, Mutex};
use std::time::Duration;

type Plain = Stack<A, Bottom>;

fn siege<'a>(
    credentials: &'a [Credentials; 2],
    streams: bool,
    slots: Option<usize>,
) -> Siege<'a, Plain, Plain> {
    Siege { client: make_stack!(A), server: make_stack!(A), credentials, streams, slots, pause: 4 }
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
                    let offer = recorded(&network, make_stack!(A), &kind[0]).await;
                    let to = server_addr().ip("flood").unwrap();
                    let inject = network.clone();
                    let strike = async |struck| {
                        let from = address(flood, struck);
                        inject.inject(&Datagram { from, to, payload: offer.clone() }).unwrap();
                    };
                    siege(kind, false, slots).run(&network, flood, strike).await
                });
                // The bound includes some honest clients.
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
                    siege(kind, true, slots).run(&network, flood, strike).await
                });
                check(seed, &what, result, slots.unwrap_or(2048) + 80);
            }
        }
    });
}

/// A flooder with addresses of its own returns cookies. It gets no more than its share of the places.
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
                // The flooder's clients follow the protocol, except that their confirmations are lost.
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
                siege(kind, false, Some(256)).run(&network, flood, strike).await
            });
            // Without credentials each client has an address of its own, and is let in.
            let bound = if number == 0 { usize::MAX } else { 256 + 256 / 8 + 80 };
            check(seed, &format!("credentials {number}"), result, bound);
        }
    });
}

/// A flooder gets signatures until the server has recognised the flood, for as many offers as the server
/// serves unvalidated clients. Afterwards it gets none.
#[test]
fn replayed_offers_get_a_bounded_number_of_signatures() {
    let [client, server] = &credentials()[2];
    for per_second in [50, 200, 5000] {
        simulate(1, async |network: Network| {
            network.answer_closed_ports(false);
            let offer = recorded(&network, make_stack!(A), client).await;
            let listening = make_stack!(A).listen(network.host(SERVER), server_addr());
            echo(&network, listening.settings(with(server, None)).await.unwrap(), |_| {});
            let signed = Arc::new(Mutex::new(Vec::new()));
            let (sign, to, runtime) =
                (signed.clone(), server_addr().ip("flood").unwrap(), network.runtime().clone());
            let (start, clock) = (runtime.now(), runtime.clone());
            network.tap(move |datagram| {
                if datagram.from == to && datagram.payload[0] == Kind::Answer as u8 {
                    sign.lock().unwrap().push(clock.now() - start);
                }
                Verdict::Pass
            });
            let flood = Flood { per_second, lasts: Duration::from_secs(30), is_near: false };
            for struck in 0..per_second * 30 {
                let from = address(flood, struck);
                network.inject(&Datagram { from, to, payload: offer.clone() }).unwrap();
                runtime.sleep_until(start + Duration::from_secs(1) * struck / per_second).await;
            }
            let signed = signed.lock().unwrap();
            // The flood has 50 offers a second, of which 32 are allowed, so the server recognises it after a
            // moment.
            let quiet = signed.iter().filter(|at| **at > Duration::from_secs(4)).count();
            assert!(signed.len() < 100 && quiet == 0, "{per_second} a second: {signed:?}");
        });
    }
}
