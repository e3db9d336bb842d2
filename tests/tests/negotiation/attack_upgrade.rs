//! Changes of stacks with an attacker between the two ends.

use crate::attacker::{Attacker, Habits};
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_core::{Buf, Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Credentials, Negotiate, Pick, Settings, SharedKey};
use bertha_tests::with_seeds;
use futures_util::future::{Either, join, select as first_of};
use std::cell::Cell;
use std::pin::pin;
use std::time::Duration;

/// Sends the numbers below `count`, with pauses.
async fn count_up(network: &Network, connection: &impl Connection<Data = Buf>, count: u32) {
    for number in 0..count {
        connection.send(bytes(&number.to_le_bytes())).await.unwrap();
        network.runtime().sleep(Duration::from_millis(25)).await;
    }
}

/// Receives all numbers below `count`, each once and in order, and goes on until both ends have received all.
async fn listen(
    network: &Network,
    connection: &impl Connection<Data = Buf>,
    (seed, count): (u64, u32),
    is_over: &Cell<bool>,
) {
    let mut next = 0u32;
    while !is_over.get() {
        let pause = pin!(network.runtime().sleep(Duration::from_millis(50)));
        if let Either::Left((received, _)) = first_of(pin!(connection.recv()), pause).await {
            let message = received.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            assert_eq!(
                message[..],
                next.to_le_bytes(),
                "seed {seed}: lost, repeated, forged or out of order"
            );
            next += 1;
        }
    }
    assert_eq!(next, count, "seed {seed}");
}

/// Sends for two seconds, or until the connection ends.
async fn talk(network: &Network, connection: &impl Connection<Data = Buf>) {
    for _ in 0..100 {
        if connection.send(bytes(b"hello")).await.is_err() {
            return;
        }
        network.runtime().sleep(Duration::from_millis(20)).await;
    }
}

/// Has two ends change their stack while an attacker mistreats their messages about the change, as `habits`
/// says: it holds, drops, repeats, edits and invents messages. Returns the number of successful changes.
fn run(seed: u64, credentials: &Credentials, habits: Habits) -> u64 {
    const MESSAGES: u32 = 200;
    simulate(seed, async |network: Network| {
        let stack = || make_stack!(select!(A, B)).upgradable();
        let mut settings = Settings::default();
        settings.credentials = credentials.clone();
        settings.handshake_timeout = Duration::from_secs(4);
        let attacker = Attacker::tap(&network, seed, habits);
        attacker.lock().unwrap().spare_data();
        let listening = stack();
        let mut incoming =
            listening.listen(server(&network), server_addr()).settings(settings.clone()).await.unwrap();
        let connecting = stack();
        let connecting = connecting.connect(client(&network), server_addr()).settings(settings);
        let (served, connected) = join(incoming.next_or_refusal(), connecting.into_future()).await;
        let (client, server) = (connected.unwrap(), served.unwrap().unwrap());
        std::mem::forget(incoming);
        let changes = Cell::new(0);
        let asked = |result: Result<_, bertha_core::Error>| match result {
            Ok(_) => changes.set(changes.get() + 1),
            Err(error) => {
                let kinds = [ErrorKind::TimedOut, ErrorKind::Refused];
                assert!(kinds.contains(&error.kind()), "seed {seed}: {error}");
            }
        };
        let is_over = Cell::new(false);
        let scene = async {
            attacker.lock().unwrap().attack(true);
            let talking = join(count_up(&network, &client, MESSAGES), count_up(&network, &server, MESSAGES));
            let by_client = async {
                for to in [1, 0, 1] {
                    asked(client.upgrade(Pick::alternative(to)).await);
                }
            };
            let by_server = async {
                network.runtime().sleep(Duration::from_millis(seed % 7 * 20)).await;
                asked(server.upgrade(Pick::alternative(1)).await);
            };
            join(talking, join(by_client, by_server)).await;
            attacker.lock().unwrap().attack(false);
            // By then all changes under way have ended at both ends.
            network.runtime().sleep(Duration::from_secs(10)).await;
            assert_eq!(client.explain().picks(), server.explain().picks(), "seed {seed}");
            let to = usize::from(client.explain().picks() == [0]);
            let last = client.upgrade(Pick::alternative(to)).await;
            last.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            network.runtime().sleep(Duration::from_secs(1)).await;
            assert_eq!(client.explain().picks(), server.explain().picks(), "seed {seed}");
            is_over.set(true);
        };
        let listening = join(
            listen(&network, &client, (seed, MESSAGES), &is_over),
            listen(&network, &server, (seed, MESSAGES), &is_over),
        );
        join(scene, listening).await;
        changes.get()
    })
}

/// Both ends change together or not at all, and lose and repeat no message, whatever the attacker does to
/// their messages.
#[test]
fn nobody_without_a_key_parts_two_ends_that_change_their_stack() {
    let (mut changes, mut runs) = (0, 0);
    let shared = Credentials::shared(SharedKey::new([7; 32]));
    with_seeds(1000, |seed| {
        changes += run(seed, &shared, Habits::of(seed));
        runs += 1;
    });
    assert!(runs == 1 || changes > runs, "{changes} changes in {runs} runs");
}

/// Without keys, drops, delays and replays part no two ends, even if a message is replayed to its sender.
#[test]
fn without_keys_replays_part_no_two_ends_that_change_their_stack() {
    with_seeds(300, |seed| {
        run(seed, &Credentials::default(), Habits { drop: 10, hold: 10, replay: 30, edit: 0, invent: 0 });
    });
}

/// Without keys and with all that an attacker can do, no end hangs or panics, and used-up rounds do no harm.
#[test]
fn without_keys_forged_steps_of_a_change_hang_nobody() {
    with_seeds(500, |seed| {
        simulate(seed, async |network: Network| {
            let stack = || make_stack!(select!(A, B)).upgradable();
            let mut settings = Settings::default();
            settings.handshake_timeout = Duration::from_secs(3);
            settings.drain_timeout = Duration::from_millis(200);
            settings.idle_timeout = Duration::from_secs(5);
            let attacker = Attacker::tap(&network, seed, Habits { invent: 60, ..Habits::of(seed) });
            let listening = stack();
            let mut incoming =
                listening.listen(server(&network), server_addr()).settings(settings.clone()).await.unwrap();
            let connecting = stack();
            let connecting = connecting.connect(client(&network), server_addr()).settings(settings);
            let (served, connected) = join(incoming.next_or_refusal(), connecting.into_future()).await;
            let (client, server) = (connected.unwrap(), served.unwrap().unwrap());
            std::mem::forget(incoming);
            attacker.lock().unwrap().attack(true);
            let changing = async {
                for to in [1, 0] {
                    let _ =
                        join(client.upgrade(Pick::alternative(to)), server.upgrade(Pick::alternative(to)))
                            .await;
                }
            };
            let hearing = join(async { while client.recv().await.is_ok() {} }, async {
                while server.recv().await.is_ok() {}
            });
            let all = join(join(talk(&network, &client), talk(&network, &server)), changing);
            let late = network.runtime().sleep(Duration::from_secs(60));
            match first_of(pin!(first_of(pin!(all), pin!(hearing))), pin!(late)).await {
                // The changes are done, or a forged message has ended the connection, as any attacker on the
                // wire can without keys.
                Either::Left(_) => {}
                Either::Right(_) => panic!("seed {seed}: hangs"),
            }
        });
    });
}
