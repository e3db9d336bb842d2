//! An observer that sees all messages and can send any message, in any end's name and made of any fields that
//! it has seen, but can't keep a message from arriving. It can neither end a connection nor alter it.

use crate::attacker::{Attacker, Habits};
use crate::keyed::Keyed;
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_core::{Buf, Connection, Describe, make_stack, select};
use bertha_datapath_sim::{Network, SimDatapath};
use bertha_negotiation::{
    Credentials, IdentityKey, Negotiate, Negotiated, Pick, Runs, Settings, SharedKey, Switching,
};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::time::Duration;

const HABITS: Habits = Habits { drop: 0, hold: 0, replay: 30, edit: 0, invent: 40 };

/// Makes two connections of one client. The observer takes fields from their handshakes, and their stacks
/// change.
async fn observed<S, A, L>(network: &Network, stack: impl Fn() -> S, settings: [Settings; 2], seed: u64)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out = Switching<A, L>>,
    Switching<A, L>: Connection<Data = Buf>,
    A: Connection,
    L: Connection<Data = Buf>,
{
    let attacker = Attacker::tap(network, seed, HABITS);
    attacker.lock().unwrap().spare_data();
    let listening = stack();
    let [at_client, at_server] = settings;
    let mut incoming = listening.listen(server(network), server_addr()).settings(at_server).await.unwrap();
    let mut ends = Vec::new();
    for port in [5000, 5001] {
        let connecting = stack();
        let from = client(network).from_port(port);
        let connecting = connecting.connect(from, server_addr()).settings(at_client.clone());
        let (served, connected) = join(incoming.next_or_refusal(), connecting.into_future()).await;
        ends.push((connected.unwrap(), served.unwrap().unwrap()));
    }
    // An observer that sends first could keep a connection from being made; `attack` and `attack_early` test
    // this case.
    attacker.lock().unwrap().attack(true);
    // The listener may be asked about clients that come back.
    let listening = async {
        while let Some(next) = incoming.next_or_refusal().await {
            if let Ok(other) = next {
                panic!("seed {seed}: a connection that nobody has made: {:?}", other.explain());
            }
        }
    };
    let talking = async {
        for turn in 0..10_u8 {
            for (client, server) in &ends {
                talk(network, client, server, seed, turn).await;
            }
            if turn % 3 == 1 {
                let (client, server) = &ends[usize::from(turn) % 2];
                let to = Pick::alternative(usize::from(client.explain().picks() == [0]));
                let upgrading = if turn == 4 { server.upgrade(to) } else { client.upgrade(to) };
                let reading = join(hear(client), hear(server));
                match first_of(pin!(upgrading), pin!(reading)).await {
                    Either::Left((changed, _)) => {
                        changed.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
                    }
                    Either::Right(_) => unreachable!(),
                }
            }
        }
    };
    // The ends take less time than this without the observer's help.
    let late = pin!(network.runtime().sleep(Duration::from_secs(30)));
    let (talking, listening) = (pin!(talking), pin!(listening));
    let all = first_of(talking, listening);
    assert!(matches!(first_of(all, late).await, Either::Left(_)), "seed {seed}: held up");
    attacker.lock().unwrap().attack(false);
    for (client, server) in &ends {
        let [one, other] = [client, server].map(|end| end.explain());
        assert_eq!((one.picks(), one.transcript()), (other.picks(), other.transcript()), "seed {seed}");
        assert!(one.is_authenticated() && other.is_authenticated());
        talk(network, client, server, seed, 99).await;
        let (closed, at_server) = join(client.close(), server.recv()).await;
        closed.unwrap();
        assert_eq!(at_server.unwrap_err().kind(), bertha_core::ErrorKind::Closed, "seed {seed}");
    }
}

/// Receives, and expects that no message comes.
async fn hear<C, L>(end: &Negotiated<Switching<C, L>>)
where
    Switching<C, L>: Connection<Data = Buf>,
    C: Connection,
    L: Connection<Data = Buf>,
{
    let received = end.recv().await;
    panic!("{received:?}");
}

/// Sends a message each way.
async fn talk(
    network: &Network,
    client: &impl Connection<Data = Buf>,
    server: &impl Connection<Data = Buf>,
    seed: u64,
    turn: u8,
) {
    for (from, to) in [(0, 1), (1, 0)] {
        let said = [turn, from];
        let heard = match from {
            0 => join(client.send(bytes(&said)), server.recv()).await,
            _ => join(server.send(bytes(&said)), client.recv()).await,
        };
        heard.0.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let heard = heard.1.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        assert_eq!(*heard, said, "seed {seed}: to {to}");
    }
    network.runtime().sleep(Duration::from_millis(20)).await;
}

fn credentials(seed: u64) -> [Credentials; 2] {
    let shared = || Credentials::shared(SharedKey::new([7; 32]));
    let (ours, theirs) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
    match seed % 8 {
        0 => [Credentials::default().trusting([theirs.public()]), Credentials::default().identity(theirs)],
        1 => [
            shared().trusting([theirs.public()]).identity(ours.clone()),
            shared().identity(theirs).trusting([ours.public()]),
        ],
        _ => [shared(), shared()],
    }
}

fn settings(credentials: Credentials) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials;
    settings.idle_timeout = Duration::from_secs(5);
    settings
}

#[test]
fn with_credentials_an_observer_ends_and_bends_nothing() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || select!(A, B).upgradable();
            observed(&network, stack, credentials(seed).map(settings), seed).await;
        });
    });
}

#[test]
fn with_a_secure_chunnel_an_observer_ends_and_bends_nothing() {
    with_seeds(400, |seed| {
        simulate(seed, async |network: Network| {
            let stack =
                || select!(make_stack!(A, Keyed::default()), make_stack!(B, Keyed::default())).upgradable();
            let none = || settings(Credentials::default());
            observed(&network, stack, [none(), none()], seed).await;
        });
    });
}

#[test]
fn with_both_an_observer_ends_and_bends_nothing() {
    with_seeds(200, |seed| {
        simulate(seed, async |network: Network| {
            let stack =
                || select!(make_stack!(A, Keyed::default()), make_stack!(B, Keyed::default())).upgradable();
            observed(&network, stack, credentials(seed).map(settings), seed).await;
        });
    });
}
