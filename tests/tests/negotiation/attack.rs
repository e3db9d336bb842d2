//! Two honest ends with an attacker between them.

use crate::attacker::{Attacker, Habits};
use crate::scene::{A, B, bytes, client, server, server_addr, simulate};
use bertha_core::{Buf, Connection, ErrorKind, Runtime, make_stack};
use bertha_datapath_sim::Network;
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Settings, SharedKey};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn settings(credentials: Credentials, seed: u64) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials;
    // The server asks for cookies in a third of all runs.
    settings.unvalidated_clients = if seed.is_multiple_of(3) { 0 } else { 256 };
    settings
}

/// The transcript and the stack of each agreement of the server.
type Accepted = Arc<Mutex<Vec<([u8; 32], String)>>>;

async fn serve(network: &Network, settings: Settings) -> Accepted {
    let stack = make_stack!(bertha_core::select!(A, B));
    let mut incoming = stack.listen(server(network), server_addr()).settings(settings).await.unwrap();
    let (accepted, runtime) = (Accepted::default(), network.runtime().clone());
    let record = accepted.clone();
    std::mem::forget(runtime.clone().spawn(async move {
        while let Some(connection) = incoming.next().await {
            let agreement = connection.explain();
            record.lock().unwrap().push((agreement.transcript(), agreement.to_string()));
            std::mem::forget(runtime.spawn(async move {
                while let Ok(message) = connection.recv().await {
                    if connection.send(message).await.is_err() {
                        break;
                    }
                }
            }));
        }
    }));
    accepted
}

/// Sends until a message comes back, or the connection ends with an error.
async fn exchange(network: &Network, connection: &impl Connection<Data = Buf>, attempts: u32) -> bool {
    let runtime = network.runtime();
    for _ in 0..attempts {
        if let Err(error) = connection.send(bytes(b"hello")).await {
            assert_ended(error.kind());
            return true;
        }
        let pause = pin!(runtime.sleep_until(runtime.now() + Duration::from_millis(100)));
        match select(pin!(connection.recv()), pause).await {
            Either::Left((Ok(_), _)) => return true,
            Either::Left((Err(error), _)) => {
                assert_ended(error.kind());
                return true;
            }
            Either::Right(_) => {}
        }
    }
    false
}

fn assert_ended(kind: ErrorKind) {
    use ErrorKind::{Closed, Reset, TimedOut, Unreachable};
    assert!([Closed, Reset, TimedOut, Unreachable].contains(&kind), "{kind:?}");
}

/// Makes an honest connection with the weaker stack, from which the attacker learns, and then a connection
/// that the attacker attacks. Returns true if both ends made the attacked connection.
fn run(seed: u64, (at_client, at_server): (Credentials, Credentials), habits: Habits) -> bool {
    let is_authenticated = at_client.is_some();
    simulate(seed, async |network: Network| {
        network.answer_closed_ports(false);
        let accepted = serve(&network, settings(at_server, seed)).await;
        let attacker = Attacker::tap(&network, seed, habits);
        let from = client(&network).from_port(5000);
        let weak = make_stack!(B);
        let settings = settings(at_client, seed);
        let first = weak.connect(from.clone(), server_addr()).settings(settings.clone()).await.unwrap();
        assert!(exchange(&network, &first, 1).await);
        if seed.is_multiple_of(2) {
            first.close().await.unwrap();
            // A task holds the port until the server has answered the close, or the client has made all its
            // attempts.
            network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(1)).await;
        } else {
            // The server still has the connection when the client comes back.
            network.cut([10, 0, 0, 1], [10, 0, 0, 2]);
        }
        drop(first);
        network.heal_all();
        accepted.lock().unwrap().clear();

        attacker.lock().unwrap().attack(true);
        let stack = make_stack!(bertha_core::select!(A, B));
        let connected = stack.connect(from, server_addr()).settings(settings).await;
        let connection = match connected {
            Ok(connection) => connection,
            Err(error) => {
                let kinds = [ErrorKind::TimedOut, ErrorKind::Unauthenticated];
                assert!(kinds.contains(&error.kind()), "seed {seed}: {error}");
                attacker.lock().unwrap().attack(false);
                network.runtime().sleep_until(network.runtime().now() + Duration::from_secs(20)).await;
                if is_authenticated {
                    assert!(accepted.lock().unwrap().is_empty(), "seed {seed}: the server agreed alone");
                }
                return false;
            }
        };
        exchange(&network, &connection, 5).await;
        attacker.lock().unwrap().attack(false);
        assert!(exchange(&network, &connection, 600).await, "seed {seed}: neither an echo nor an error");
        let agreement = connection.explain();
        assert_eq!(agreement.is_authenticated(), is_authenticated);
        assert!(agreement.to_string().starts_with("A,"), "seed {seed}: {agreement}");
        for (transcript, stack) in &*accepted.lock().unwrap() {
            if is_authenticated {
                assert_eq!(*transcript, agreement.transcript(), "seed {seed}");
            }
            assert!(
                stack.starts_with("A,") || !is_authenticated && stack.starts_with("B,"),
                "seed {seed}: {stack}"
            );
        }
        !accepted.lock().unwrap().is_empty()
    })
}

fn credentials(seed: u64) -> (Credentials, Credentials) {
    let shared = || Credentials::shared(SharedKey::new([7; 32]));
    let (ours, theirs) = (IdentityKey::from_seed([1; 32]), IdentityKey::from_seed([2; 32]));
    match seed % 16 {
        0 => (Credentials::default().trusting([theirs.public()]), Credentials::default().identity(theirs)),
        1 => (
            Credentials::default().trusting([theirs.public()]).identity(ours.clone()),
            Credentials::default().identity(theirs).trusting([ours.public()]),
        ),
        2 => (shared().trusting([theirs.public()]), shared().identity(theirs)),
        _ => (shared(), shared()),
    }
}

#[test]
fn nobody_without_a_key_brings_two_ends_to_different_or_weaker_stacks() {
    let (mut made, mut runs) = (0, 0);
    with_seeds(10_000, |seed| {
        made += u64::from(run(seed, credentials(seed), Habits::of(seed)));
        runs += 1;
    });
    // An attacker that always wins by cutting the wire shows nothing.
    assert!(runs == 1 || made * 2 > runs, "{made} connections in {runs} runs");
}

/// Without keys, messages that are lost, repeated, late or replayed do no harm either.
#[test]
fn without_keys_nobody_does_so_by_replays() {
    with_seeds(1000, |seed| {
        let habits = Habits { drop: 10, hold: 10, replay: 30, edit: 0, invent: 0 };
        run(seed, Default::default(), habits);
    });
}
