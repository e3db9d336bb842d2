//! Noise's handshake where messages are lost, repeated, delayed, forged and replayed.

use crate::secured::noise::patterns;
use crate::secured::scene::{CLIENT, Hosts, SERVER};
use bertha_chunnels::Noise;
use bertha_chunnels::noise::{NoiseConnection, wire};
use bertha_core::{
    Addr, Base, BoxFuture, Chunnel, ConnectContext, Connected, Connection, Connector, Datapath, Error,
    ErrorKind, Listener, Node, Role, Runtime,
};
use bertha_datapath_sim::{Datagram, Link, Network, Sim, SimConnection, Verdict};
use futures_util::future::{Either, join, select};
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Opens no further connections.
struct Alone;

impl<Inner> Connector<Inner> for Alone {
    fn connect<'a>(&'a self, _: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a,
    {
        Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "alone")) })
    }
}

type End = NoiseConnection<SimConnection>;

fn over_many_seeds(seeds: u64, check: impl AsyncFn(&Hosts)) {
    for seed in 0..seeds {
        let mut sim = Sim::new(seed);
        let network = sim.network().clone();
        let hosts = Hosts { client: network.host(CLIENT), server: network.host(SERVER), network };
        sim.run(check(&hosts));
    }
}

/// Wraps a connection without negotiation, so that only the handshake's messages are on the network.
async fn wrapped(noise: &Noise, base: SimConnection, role: Role) -> Result<End, Error> {
    noise.connect_wrap(base, ConnectContext::new(&Alone, role)).await
}

/// Returns the server's end of the next connection.
async fn accepted(hosts: &Hosts, noise: &Noise, port: u16) -> Result<End, Error> {
    let listener = hosts.server.listen((SERVER, port).into()).await.unwrap();
    let base = listener.accept().await.unwrap();
    let end = wrapped(noise, base, Role::Server).await;
    // The port stays in use.
    std::mem::forget(listener);
    end
}

async fn connected(
    hosts: &Hosts,
    client: &Noise,
    server: &Noise,
    port: u16,
) -> (Result<End, Error>, Result<End, Error>) {
    let connecting = async {
        let base = hosts.client.connect((SERVER, port).into()).await.unwrap();
        wrapped(client, base, Role::Client).await
    };
    join(connecting, accepted(hosts, server, port)).await
}

async fn send(end: &End, bytes: &[u8]) {
    let mut message = end.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    end.send(message).await.unwrap();
}

/// Returns the next message, or `None` if no message comes within a second.
async fn received(hosts: &Hosts, end: &End) -> Option<Vec<u8>> {
    let runtime = hosts.network.runtime();
    let pause = runtime.sleep_until(runtime.now() + Duration::from_secs(1));
    match select(pin!(end.recv()), pin!(pause)).await {
        Either::Left((message, _)) => Some(message.unwrap().to_vec()),
        Either::Right(_) => None,
    }
}

fn is_transport(datagram: &Datagram) -> bool {
    matches!(wire::decode(&datagram.payload), Some(wire::Arrived::Transport(_)))
}

fn is_response(datagram: &Datagram) -> bool {
    matches!(wire::decode(&datagram.payload), Some(wire::Arrived::Response(_)))
}

#[test]
fn a_poor_network_delays_a_handshake_and_messages_come_once() {
    over_many_seeds(100, async |hosts| {
        let delay = Duration::from_millis(5);
        hosts.network.set_link(Link { delay, detour: delay * 20, corruption: 0.02, ..Link::poor(0.2) });
        for ((client, server), port) in patterns().into_iter().zip(1..) {
            let (here, there) = connected(hosts, &client, &server, port).await;
            let (here, there) = (here.unwrap(), there.unwrap());
            for (from, to) in [(&here, &there), (&there, &here)] {
                for number in 0..30 {
                    send(from, &[number; 9]).await;
                }
                let mut seen = Vec::new();
                while let Some(message) = received(hosts, to).await {
                    assert!(message == [message[0]; 9] && !seen.contains(&message[0]), "{message:?}");
                    seen.push(message[0]);
                }
                assert!(seen.len() > 5, "{seen:?}");
            }
        }
    });
}

#[test]
fn a_client_that_only_waits_is_accepted_although_its_confirmation_is_lost() {
    over_many_seeds(5, async |hosts| {
        for ((client, server), port) in patterns().into_iter().zip(1..) {
            let mut lost = 0;
            hosts.network.tap(move |datagram| {
                if is_transport(datagram) && lost < 4 {
                    lost += 1;
                    return Verdict::Drop;
                }
                Verdict::Pass
            });
            let (here, there) = connected(hosts, &client, &server, port).await;
            let (here, there) = (here.unwrap(), there.unwrap());
            send(&there, b"hello").await;
            assert_eq!(received(hosts, &here).await.as_deref(), Some(&b"hello"[..]));
        }
    });
}

#[test]
fn the_first_message_may_overtake_the_confirmation() {
    over_many_seeds(5, async |hosts| {
        for ((client, server), port) in patterns().into_iter().zip(1..) {
            // All confirmations are lost, so the message has to confirm the handshake.
            hosts.network.tap(|datagram| match wire::decode(&datagram.payload) {
                Some(wire::Arrived::Transport(header)) if header.number == wire::CONFIRMATION => {
                    Verdict::Drop
                }
                _ => Verdict::Pass,
            });
            let connecting = async {
                let base = hosts.client.connect((SERVER, port).into()).await.unwrap();
                let here = wrapped(&client, base, Role::Client).await.unwrap();
                send(&here, b"first").await;
                send(&here, b"second").await;
                here
            };
            let (_here, there) = join(connecting, accepted(hosts, &server, port)).await;
            let there = there.unwrap();
            assert_eq!(received(hosts, &there).await.as_deref(), Some(&b"first"[..]));
            let mut rest = Vec::new();
            there.recv_batch(&mut rest, 8).await.unwrap();
            assert_eq!(&*rest[0], b"second");
        }
    });
}

/// Has `forge` make a datagram from each datagram on its way, and sends it first.
fn forging(network: &Network, forge: impl Fn(&Datagram) -> Option<Vec<u8>> + Send + 'static) {
    let injecting = network.clone();
    network.tap(move |datagram| {
        if let Some(payload) = forge(datagram) {
            injecting.inject(&Datagram { payload, ..datagram.clone() }).unwrap();
        }
        Verdict::Pass
    });
}

/// A function that makes a message of an observed message.
type Forgery = fn(&Datagram) -> Option<Vec<u8>>;

#[test]
fn forged_answers_ahead_of_the_genuine_ones_are_doubted() {
    over_many_seeds(5, async |hosts| {
        let forgeries: [Forgery; 4] = [
            |datagram| is_response(datagram).then(|| wire::refusal(wire::Refusal::Untrusted).to_vec()),
            |datagram| is_response(datagram).then(|| wire::response(&[9; wire::RESPONSE])),
            |datagram| match wire::decode(&datagram.payload) {
                Some(wire::Arrived::Initiation(message)) => Some(wire::initiation(&vec![9; message.len()])),
                _ => None,
            },
            |datagram| is_transport(datagram).then(|| [&datagram.payload[..8], &[9; 20]].concat()),
        ];
        let mut port = 0;
        for forge in forgeries {
            for (client, server) in patterns() {
                port += 1;
                forging(&hosts.network, forge);
                let (here, there) = connected(hosts, &client, &server, port).await;
                let (here, there) = (here.unwrap(), there.unwrap());
                hosts.network.untap();
                send(&here, b"hello").await;
                assert_eq!(received(hosts, &there).await.as_deref(), Some(&b"hello"[..]));
            }
        }
    });
}

#[test]
fn an_altered_handshake_fails_before_any_message() {
    over_many_seeds(5, async |hosts| {
        let altered: [fn(&Datagram) -> bool; 2] = [is_response, |datagram| {
            matches!(wire::decode(&datagram.payload), Some(wire::Arrived::Initiation(_)))
        }];
        let mut port = 0;
        for is_altered in altered {
            for (client, server) in patterns() {
                port += 1;
                hosts.network.tap(move |datagram| {
                    if is_altered(datagram) {
                        datagram.payload[40] ^= 1;
                    }
                    Verdict::Pass
                });
                let (here, there) = connected(hosts, &client, &server, port).await;
                let (here, there) = (here.err().unwrap(), there.err().unwrap());
                assert_eq!(here.kind(), ErrorKind::Unauthenticated, "{here}");
                // A server that hears only a genuine initiation has no reason for doubt.
                let kinds = [ErrorKind::Unauthenticated, ErrorKind::TimedOut];
                assert!(kinds.contains(&there.kind()), "{there}");
                hosts.network.untap();
            }
        }
    });
}

#[test]
fn a_client_that_begins_anew_is_accepted() {
    over_many_seeds(10, async |hosts| {
        for ((client, server), port) in patterns().into_iter().zip(1..) {
            let here = hosts.client.clone().from_port(100 + port);
            let first_life = async {
                let base = here.connect((SERVER, port).into()).await.unwrap();
                let runtime = hosts.network.runtime();
                let death = runtime.sleep_until(runtime.now() + Duration::from_micros(150));
                // The client dies before the response arrives.
                drop(select(pin!(wrapped(&client, base, Role::Client)), pin!(death)).await);
                let recorded = Arc::new(Mutex::new(None::<Datagram>));
                let (kept, injecting) = (recorded.clone(), hosts.network.clone());
                // The first client's initiation comes once more whenever the second client sends a message.
                hosts.network.tap(move |datagram| {
                    let is_initiation =
                        matches!(wire::decode(&datagram.payload), Some(wire::Arrived::Initiation(_)));
                    let mut kept = kept.lock().unwrap();
                    if is_initiation && kept.is_none() {
                        *kept = Some(datagram.clone());
                    } else if let Some(late) = &*kept {
                        injecting.inject(late).unwrap();
                    }
                    Verdict::Pass
                });
                let base = here.connect((SERVER, port).into()).await.unwrap();
                wrapped(&client, base, Role::Client).await.unwrap()
            };
            let (here, there) = join(first_life, accepted(hosts, &server, port)).await;
            hosts.network.untap();
            let there = there.unwrap();
            send(&here, b"hello").await;
            assert_eq!(received(hosts, &there).await.as_deref(), Some(&b"hello"[..]));
        }
    });
}

#[test]
fn a_recorded_connection_is_not_delivered_again_and_draws_no_more_than_was_sent() {
    over_many_seeds(5, async |hosts| {
        hosts.network.answer_closed_ports(false);
        for ((client, server), port) in patterns().into_iter().zip((1..).step_by(2)) {
            let recorded = Arc::new(Mutex::new(Vec::<Datagram>::new()));
            let recording = recorded.clone();
            hosts.network.tap(move |datagram| {
                recording.lock().unwrap().push(datagram.clone());
                Verdict::Pass
            });
            let (here, there) = connected(hosts, &client, &server, port).await;
            let there = there.unwrap();
            send(&here.unwrap(), b"pay 100").await;
            assert_eq!(received(hosts, &there).await.as_deref(), Some(&b"pay 100"[..]));
            let drawn = Arc::new(AtomicUsize::new(0));
            let drawing = drawn.clone();
            hosts.network.tap(move |datagram| {
                drawing.fetch_add(datagram.payload.len(), Relaxed);
                Verdict::Pass
            });
            let victim = SocketAddr::from(([10, 0, 0, 9], 7));
            let mut sent = 0;
            for datagram in &*recorded.lock().unwrap() {
                if datagram.to.port() == port {
                    let to = (SERVER, port + 1).into();
                    hosts
                        .network
                        .inject(&Datagram { from: victim, to, payload: datagram.payload.clone() })
                        .unwrap();
                    sent += datagram.payload.len();
                }
            }
            let error = accepted(hosts, &server, port + 1).await.err().unwrap();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error}");
            assert!(drawn.load(Relaxed) <= sent, "{} for {sent}", drawn.load(Relaxed));
            hosts.network.untap();
        }
    });
}

/// An attacker hands messages of a client to another connection of the client, and back to their sender.
#[test]
fn two_connections_of_one_client_are_no_ends_of_one() {
    over_many_seeds(5, async |hosts| {
        let [(shared, _), _] = patterns();
        let ports = [11_u16, 12];
        let injecting = hosts.network.clone();
        // All datagrams go back to the client: to the other connection, and to their sender.
        hosts.network.tap(move |datagram| {
            for port in ports {
                let (from, to) = (datagram.to, SocketAddr::new(datagram.from.ip(), port));
                injecting.inject(&Datagram { from, to, payload: datagram.payload.clone() }).unwrap();
            }
            Verdict::Drop
        });
        let connect = async |port| {
            let base = hosts.client.clone().from_port(port).connect((SERVER, 1).into()).await.unwrap();
            wrapped(&shared, base, Role::Client).await.err().unwrap()
        };
        let (one, other) = join(connect(ports[0]), connect(ports[1])).await;
        assert_eq!([one.kind(), other.kind()], [ErrorKind::TimedOut; 2], "{one}; {other}");
    });
}
