//! Messages about a connection that an attacker records and sends again, each to the end that it was for. The
//! proofs of these messages are right; only their numbers show that they have been received before.

use crate::keyed::Keyed;
use crate::scene::{A, B, CLIENT, SERVER, server_addr, simulate};
use crate::third_party::{Seen, connect, pause, still_talk, watch, while_receiving};
use bertha_core::{Buf, Connection, Describe, ErrorKind, make_stack, select};
use bertha_datapath_sim::{Datagram, Network, SimDatapath};
use bertha_negotiation::testing::wire::{self, Kind};
use bertha_negotiation::{Credentials, Negotiate, Pick, Runs, Settings, SharedKey, Switching};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::time::Duration;

/// Takes the messages of a kind that went over the wire since the last call.
fn taken(seen: &Seen, kind: Kind) -> Vec<Datagram> {
    let mut all = std::mem::take(&mut *seen.lock().unwrap());
    all.retain(|it| wire::header(&it.payload).is_some_and(|(of, _)| of == kind));
    all
}

fn is_to_server(message: &Datagram) -> bool {
    message.to == server_addr().ip("test").unwrap()
}

fn shared() -> Settings {
    let mut settings = Settings::default();
    settings.credentials = Credentials::shared(SharedKey::new([7; 32]));
    settings
}

/// Puts messages into another order.
fn shuffle(messages: &mut [Datagram], seed: u64) {
    let mut dice = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    for at in (1..messages.len()).rev() {
        dice ^= dice << 13;
        dice ^= dice >> 7;
        dice ^= dice << 17;
        messages.swap(at, (dice >> 11) as usize % (at + 1));
    }
}

/// Makes three changes, and replays all earlier messages about changes after each. The ends count the
/// replayed messages as forged, and neither answer nor follow them.
async fn changes<S, C, L>(network: &Network, stack: impl Fn() -> S, settings: &Settings, seed: u64)
where
    S: Describe + Send + Sync + 'static,
    SimDatapath: Runs<S, Out = Switching<C, L>>,
    Switching<C, L>: Connection<Data = Buf>,
    C: Connection,
    L: Connection<Data = Buf>,
{
    let seen = watch(network);
    let (client, server) = connect(network, stack, settings).await;
    let mut recorded = Vec::new();
    for (round, to) in [1, 0, 1].into_iter().enumerate() {
        let proposer = if (seed + round as u64).is_multiple_of(2) { &client } else { &server };
        let upgrading = proposer.upgrade(Pick::alternative(to));
        while_receiving(upgrading, &client, &server).await.unwrap();
        still_talk(network, &client, &server).await;
        let said = taken(&seen, Kind::Upgrade);
        assert!(said.len() >= 4, "seed {seed}: {} steps of a change", said.len());
        recorded.extend(said);
        shuffle(&mut recorded, seed);
        let ends = [&client, &server];
        let forged = ends.map(|end| end.forged());
        for message in &recorded {
            network.inject(message).unwrap();
        }
        still_talk(network, &client, &server).await;
        let to_server = recorded.iter().filter(|it| is_to_server(it)).count() as u64;
        let replayed = [recorded.len() as u64 - to_server, to_server];
        let counted = [0, 1].map(|end| ends[end].forged() - forged[end]);
        assert_eq!(counted, replayed, "seed {seed}, round {round}: some were heard");
        assert_eq!(taken(&seen, Kind::Upgrade).len(), 0, "seed {seed}, round {round}: some were answered");
        assert!(ends.iter().all(|end| end.explain().picks()[0] == to as u8), "seed {seed}, round {round}");
    }
}

#[test]
fn recorded_steps_of_a_change_are_not_heard_again_under_credentials() {
    with_seeds(20, |seed| {
        simulate(seed, async |network: Network| {
            changes(&network, || select!(A, B).upgradable(), &shared(), seed).await;
        });
    });
}

#[test]
fn nor_under_the_key_of_a_secure_chunnel() {
    with_seeds(20, |seed| {
        simulate(seed, async |network: Network| {
            let stack =
                || select!(make_stack!(A, Keyed::default()), make_stack!(B, Keyed::default())).upgradable();
            changes(&network, stack, &Settings::default(), seed).await;
        });
    });
}

/// An observer that replays keep-alives can't make an end wait for a peer that is long gone.
#[test]
fn recorded_signs_of_life_keep_no_connection_alive() {
    for is_keyed in [false, true] {
        with_seeds(5, |seed| {
            simulate(seed, async |network: Network| {
                let seen = watch(&network);
                let mut settings = if is_keyed { Settings::default() } else { shared() };
                settings.idle_timeout = Duration::from_secs(6);
                let stack = || if is_keyed { Keyed::default() } else { Keyed::mute() };
                let (client, server) = connect(&network, stack, &settings).await;
                // Both ends only listen for a while.
                {
                    let listening = pin!(join(client.recv(), server.recv()));
                    let quiet = pin!(pause(&network, Duration::from_secs(20)));
                    if let Either::Left((received, _)) = first_of(listening, quiet).await {
                        panic!("seed {seed}: {received:?}");
                    }
                }
                let mut recorded = taken(&seen, Kind::KeepAlive);
                recorded.retain(is_to_server);
                assert!(recorded.len() > 5, "seed {seed}: {}", recorded.len());
                network.cut(CLIENT, SERVER);
                network.restart(CLIENT);
                let replaying = async {
                    // The replay lasts longer than a client may be silent.
                    for message in recorded.iter().cycle().take(40) {
                        network.inject(message).unwrap();
                        pause(&network, Duration::from_millis(500)).await;
                    }
                };
                match first_of(pin!(server.recv()), pin!(replaying)).await {
                    Either::Left((ended, _)) => {
                        assert_eq!(ended.unwrap_err().kind(), ErrorKind::TimedOut, "seed {seed}");
                    }
                    Either::Right(_) => panic!("seed {seed}: takes a client for alive that is gone"),
                }
                std::mem::forget(client);
            });
        });
    }
}
