//! An attacker that gives its victim's address as its own, and a server whose application replies at length.

use crate::early_scene::{learn_at, over};
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_chunnels::{Ordered, Reliable, Serialize};
use bertha_core::{Buf, Connection, Describe, Runtime, make_stack, select};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{Kind, encode, header, offer_in};
use bertha_negotiation::{Credentials, IdentityKey, Incoming, Negotiate, Runs, Settings, SharedKey};
use bertha_tests::with_seeds;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Sends a hundred messages for each message, and messages without a request.
fn reply_at_length<S, T>(network: &Network, mut incoming: Incoming<S, SimDatapath>, long: fn() -> T)
where
    S: Send + Sync + 'static,
    T: Send + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = T>>,
{
    let runtime = network.runtime().clone();
    let tasks = runtime.clone();
    std::mem::forget(runtime.spawn(async move {
        while let Some(connection) = incoming.next().await {
            std::mem::forget(tasks.spawn(async move {
                let say = async |number| {
                    let _ = match number % 2 {
                        0 => connection.send(long()).await,
                        _ => connection.send_batch((0..100).map(|_| long())).await,
                    };
                };
                say(0).await;
                let mut number = 1;
                while connection.recv().await.is_ok() {
                    say(number).await;
                    number += 1;
                }
                let _ = connection.close().await;
            }));
        }
    }));
}

/// Records the messages of a client to the server. With `holds` the server never receives them.
fn record(network: &Network, holds: bool) -> Arc<Mutex<Vec<Vec<u8>>>> {
    let said = Arc::new(Mutex::new(Vec::<Vec<u8>>::new()));
    let listen = said.clone();
    network.tap(move |datagram| {
        if datagram.to == server_addr().ip("attack").unwrap() {
            listen.lock().unwrap().push(datagram.payload.clone());
            if holds {
                return Verdict::Drop;
            }
        }
        Verdict::Pass
    });
    said
}

/// Sends the messages of `opening` in the victim's name, and then data. Returns the number of bytes that were
/// sent, and the number of bytes that the victim got.
async fn reflect(network: &Network, opening: &[Vec<u8>], seed: u64) -> (usize, usize) {
    network.answer_closed_ports(false);
    let victim = SocketAddr::from(([100, 0, 0, 9], 1000));
    let got = Arc::new(Mutex::new(0));
    let count = got.clone();
    network.tap(move |datagram| {
        if datagram.to == victim {
            *count.lock().unwrap() += datagram.payload.len();
        }
        Verdict::Pass
    });
    let mut said = 0;
    let mut say = |payload: Vec<u8>| {
        said += payload.len();
        let to = server_addr().ip("attack").unwrap();
        network.inject(&Datagram { from: victim, to, payload }).unwrap();
    };
    let runtime = network.runtime();
    for message in opening {
        say(message.clone());
        runtime.sleep(Duration::from_millis(1)).await;
    }
    let (offer, _) = offer_in(&opening[0]).unwrap();
    let (_, tag) = header(offer).unwrap();
    for number in 0..16 {
        // The message has the form that the Chunnel `A` expects.
        let data = [&tag.header(Kind::Data)[..], b"A", &[number; 1000]].concat();
        say(data);
        runtime.sleep(Duration::from_micros(10 << (seed % 12))).await;
        if number % 5 == 0 {
            say(encode(Kind::KeepAlive, tag, &()).unwrap());
            say(opening[0].clone());
        }
    }
    runtime.sleep(Duration::from_secs(90)).await;
    (said, *got.lock().unwrap())
}

fn check(seed: u64, what: &str, (said, got): (usize, usize)) {
    assert!(got <= 3 * said, "{what}, seed {seed}: {got} bytes to the victim for {said}");
    assert!(got > 0, "{what}, seed {seed}: the server has answered");
}

fn long() -> Buf {
    bytes(&[7; 1000])
}

async fn attack<S>(
    network: &Network,
    stack: impl Fn() -> S,
    at: [Credentials; 2],
    seed: u64,
) -> (usize, usize)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    let [ours, theirs] = at.map(|credentials| {
        let mut settings = Settings::default();
        settings.credentials = credentials;
        settings
    });
    let said = record(network, false);
    let incoming = stack().listen(server(network), server_addr()).settings(theirs).await.unwrap();
    reply_at_length(network, incoming, long);
    let honest = stack().connect(client(network), server_addr()).settings(ours).await.unwrap();
    drop(honest);
    let offer = std::mem::take(&mut *said.lock().unwrap()).swap_remove(0);
    reflect(network, &[offer], seed).await
}

#[test]
fn a_victim_gets_at_most_three_times_what_was_sent_in_its_name() {
    let key = IdentityKey::from_seed([1; 32]);
    let shared = || Credentials::shared(SharedKey::new([1; 32]));
    let both = || shared().identity(key.clone()).trusting([key.public()]);
    let kinds = [
        [Credentials::default(), Credentials::default()],
        [shared(), shared()],
        [Credentials::default().trusting([key.public()]), Credentials::default().identity(key.clone())],
        [both(), both()],
    ];
    with_seeds(24, |seed| {
        for (number, kind) in kinds.iter().enumerate() {
            let what = format!("credentials {number}");
            simulate(seed, async |network: Network| {
                let attacked = attack(&network, || make_stack!(A), kind.clone(), seed).await;
                check(seed, &what, attacked);
            });
        }
        let plain = || [Credentials::default(), Credentials::default()];
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            check(seed, "upgradable", attack(&network, stack, plain(), seed).await);
        });
        simulate(seed, async |network: Network| {
            let datapath = client(&network);
            let stack = || make_stack!(A).boxed(&datapath);
            check(seed, "boxed", attack(&network, stack, plain(), seed).await);
        });
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(Ordered::new(), Reliable::new());
            check(seed, "reliable", attack(&network, stack, plain(), seed).await);
        });
    });
}

/// The attacker sends a first flight that the server has never seen, in the victim's name.
#[test]
fn messages_that_come_with_an_offer_are_answered_within_three_times_their_bytes() {
    with_seeds(24, |seed| {
        for credentials in [Credentials::default(), Credentials::shared(SharedKey::new([1; 32]))] {
            simulate(seed, async |network: Network| {
                let settings = || {
                    let mut settings = Settings::default();
                    settings.credentials = credentials.clone();
                    settings.early_data = true;
                    settings
                };
                let listening = over!(select!(A, B)).listen(server(&network), server_addr());
                let mut incoming = listening.settings(settings()).await.unwrap();
                let cache = learn_at(&network, &mut incoming, settings()).await;
                let said = record(&network, true);
                let stack = over!(select!(A, B));
                let connecting = stack.connect(client(&network), server_addr());
                let held = connecting.early(&cache).settings(settings()).await.unwrap();
                held.send("early".into()).await.unwrap();
                network.runtime().sleep(Duration::from_millis(10)).await;
                drop(held);
                network.untap();
                reply_at_length(&network, incoming, || "x".repeat(1000));
                let flight = std::mem::take(&mut *said.lock().unwrap()).swap_remove(0);
                assert_eq!(flight[0], Kind::Early as u8);
                check(seed, "0-RTT", reflect(&network, &[flight], seed).await);
            });
        }
    });
}

/// The bound on unvalidated addresses costs honest clients no round trip, whether the reply is short or long.
#[test]
fn a_client_waits_no_longer_for_a_long_reply() {
    simulate(1, async |network: Network| {
        let incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        reply_at_length(&network, incoming, long);
        let before = network.runtime().now();
        let connection = make_stack!(A).connect(client(&network), server_addr()).await.unwrap();
        connection.send(bytes(b"ask")).await.unwrap();
        for _ in 0..101 {
            assert_eq!(connection.recv().await.unwrap().len(), 1000);
        }
        assert_eq!(
            (network.runtime().now() - before).as_micros(),
            400,
            "two round trips, of which one connects"
        );
    });
}

/// The server takes the client's address for proven in the end, whatever the network loses.
#[test]
fn a_client_gets_its_long_reply_over_a_poor_network() {
    use bertha_datapath_sim::Link;
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            network.set_link(Link { corruption: 0.05, ..Link::poor(0.2) });
            let mut patient = Settings::default();
            patient.handshake_timeout = Duration::from_secs(60);
            let stack = || make_stack!(Ordered::new(), Reliable::new());
            let incoming =
                stack().listen(server(&network), server_addr()).settings(patient.clone()).await.unwrap();
            reply_at_length(&network, incoming, long);
            let stack = stack();
            let connecting = stack.connect(client(&network), server_addr()).settings(patient);
            let connection = connecting.await.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            connection.send(bytes(b"ask")).await.unwrap();
            for number in 0..101 {
                let reply = connection.recv().await;
                reply.unwrap_or_else(|error| panic!("seed {seed}, reply {number}: {error}"));
            }
        });
    });
}

#[test]
fn a_client_that_says_nothing_is_believed_and_one_that_is_not_there_is_given_up() {
    simulate(7, async |network: Network| {
        // The first confirmation is lost, and the client only listens.
        let lost = Arc::new(Mutex::new(0));
        let lose = lost.clone();
        network.tap(move |datagram| {
            let is_lost = datagram.payload[0] == Kind::Confirm as u8 && *lose.lock().unwrap() == 0;
            *lose.lock().unwrap() += u8::from(is_lost);
            if is_lost { Verdict::Drop } else { Verdict::Pass }
        });
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let stack = make_stack!(A);
        let connecting = stack.connect(client(&network), server_addr()).into_future();
        let (connection, served) = futures_util::join!(connecting, incoming.next_or_refusal());
        let (connection, served) = (connection.unwrap(), served.unwrap().unwrap());
        // The messages exceed the bytes that the offer allows, so the send waits until the answer is repeated
        // and confirmed.
        let before = network.runtime().now();
        let listening = async {
            for _ in 0..10 {
                assert_eq!(*connection.recv().await.unwrap(), *long());
            }
        };
        let (sent, ()) = futures_util::join!(served.send_batch((0..10).map(|_| long())), listening);
        sent.unwrap();
        assert_eq!(*lost.lock().unwrap(), 1);
        assert!(network.runtime().now() - before < Duration::from_millis(200));
    });
    simulate(8, async |network: Network| {
        network.answer_closed_ports(false);
        let said = record(&network, true);
        let mut impatient = Settings::default();
        impatient.handshake_timeout = Duration::from_millis(300);
        let stack = make_stack!(A);
        let connecting = stack.connect(client(&network), server_addr()).settings(impatient);
        assert!(connecting.await.is_err());
        let offer = std::mem::take(&mut *said.lock().unwrap()).swap_remove(0);
        let mut incoming = make_stack!(A).listen(server(&network), server_addr()).await.unwrap();
        let (from, to) = (SocketAddr::from(([100, 0, 0, 9], 1000)), server_addr().ip("attack").unwrap());
        network.inject(&Datagram { from, to, payload: offer }).unwrap();
        let served = incoming.next().await.unwrap();
        let before = network.runtime().now();
        let error = served.send(long()).await.unwrap_err();
        assert_eq!(error.kind(), bertha_core::ErrorKind::TimedOut, "{error}");
        assert_eq!((network.runtime().now() - before).as_secs(), 10);
        assert!(served.recv().await.is_err());
    });
}
