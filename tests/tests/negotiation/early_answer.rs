//! The answer to a first flight, with data behind it or alone.

use crate::early_scene::{connect, hear, learn_at, open, over, pause, say};
use crate::scene::{A, B, SERVER, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, Runtime, make_stack, select};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{self, Kind};
use bertha_negotiation::{Incoming, Negotiate, Negotiated, Runs, ZeroRtt};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const OFFER: u8 = Kind::Early as u8;
const ANSWER: u8 = Kind::Answer as u8;
const DATA: u8 = Kind::Data as u8;
const BOTH: u8 = Kind::AnswerAndData as u8;
/// The first byte of a server's close.
const CLOSE: u8 = Kind::Close as u8 | 0x40;
const CONFIRM: u8 = Kind::Confirm as u8;

/// Records the kinds of the messages on the network from now on.
fn watch(network: &Network) -> Arc<Mutex<Vec<u8>>> {
    let kinds = Arc::new(Mutex::new(Vec::new()));
    let seen = kinds.clone();
    network.tap(move |datagram| {
        seen.lock().unwrap().push(datagram.payload[0]);
        Verdict::Pass
    });
    kinds
}

/// Has a server run `act` with each connection, in the task that accepts the connection.
fn with_each<S, F>(
    network: &Network,
    mut incoming: Incoming<S, SimDatapath>,
    mut act: impl FnMut(Negotiated<<SimDatapath as Runs<S>>::Out>) -> F + Send + 'static,
) where
    S: Send + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = String>>,
    F: Future<Output = ()> + Send,
{
    std::mem::forget(network.runtime().spawn(async move {
        while let Some(connection) = incoming.next().await {
            act(connection).await;
        }
    }));
}

/// Echoes in the task that accepts connections, so that no other task runs in between.
async fn echo(connection: impl Connection<Data = String>) {
    while let Ok(message) = connection.recv().await {
        connection.send(message).await.unwrap();
    }
}

macro_rules! serve_with {
    ($network:expr, $act:expr) => {{
        let listening = over!(select!(A, B)).listen(server($network), server_addr()).settings(open());
        let mut incoming = listening.await.unwrap();
        let cache = learn_at($network, &mut incoming, open()).await;
        with_each($network, incoming, $act);
        cache
    }};
}

#[test]
fn an_application_that_only_listens_holds_no_answer_back() {
    simulate(1, async |network: Network| {
        let cache = serve_with!(&network, async |connection| while connection.recv().await.is_ok() {});
        let (kinds, before) = (watch(&network), network.runtime().now());
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!((network.runtime().now() - before).as_micros(), 200, "one round trip");
        assert_eq!(*kinds.lock().unwrap(), [OFFER, ANSWER, CONFIRM]);
    });
}

#[test]
fn an_application_that_does_nothing_holds_no_answer_back() {
    simulate(2, async |network: Network| {
        let cache = serve_with!(&network, async |connection| {
            std::future::pending::<()>().await;
            drop(connection);
        });
        let before = network.runtime().now();
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        connection.agreed().await.unwrap();
        assert_eq!((network.runtime().now() - before).as_micros(), 200, "one round trip");
    });
}

#[test]
fn an_application_that_leaves_at_once_answers_first() {
    simulate(3, async |network: Network| {
        for by_closing in [true, false] {
            let cache = serve_with!(&network, move |connection| async move {
                if by_closing {
                    connection.close().await.unwrap();
                }
            });
            let kinds = watch(&network);
            let connection = connect(&network, &cache, open()).await.unwrap();
            say(&connection, &["one"]).await;
            assert_eq!(connection.agreed().await.unwrap().zero_rtt(), Some(&ZeroRtt::Taken(1)));
            assert!(connection.recv().await.is_err());
            assert_eq!(kinds.lock().unwrap()[..3], [OFFER, ANSWER, CLOSE], "{by_closing}");
            network.tap(|_| Verdict::Pass);
            drop(connection);
            network.restart(SERVER);
        }
    });
}

#[test]
fn of_a_burst_the_first_message_goes_with_the_answer() {
    simulate(4, async |network: Network| {
        let cache = serve_with!(&network, async |connection| {
            let messages = ["two", "three", "four"].map(String::from);
            connection.send_batch(messages.into_iter()).await.unwrap();
            while connection.recv().await.is_ok() {}
        });
        let kinds = watch(&network);
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        hear(&connection, &["two", "three", "four"]).await;
        assert_eq!(*kinds.lock().unwrap(), [OFFER, BOTH, DATA, DATA, CONFIRM]);
    });
}

#[test]
fn what_does_not_fit_follows_the_answer() {
    simulate(5, async |network: Network| {
        let long = "x".repeat(1190);
        let echo = long.clone();
        let cache = serve_with!(&network, move |connection| {
            let echo = echo.clone();
            async move {
                connection.send(echo).await.unwrap();
                while connection.recv().await.is_ok() {}
            }
        });
        let kinds = watch(&network);
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        hear(&connection, &[&long]).await;
        assert_eq!(
            *kinds.lock().unwrap(),
            [OFFER, ANSWER, CONFIRM, DATA],
            "it is more than the flight allows"
        );
    });
}

/// The answer is repeated without data, and the data that went with it arrives after the client has agreed:
/// once, or as often as the network repeats it, like any data.
#[test]
fn data_behind_a_late_or_repeated_answer_arrives() {
    for repeated in [false, true] {
        simulate(6, async |network: Network| {
            let cache = serve_with!(&network, echo);
            let held = Arc::new(Mutex::new(None::<Datagram>));
            let hold = held.clone();
            network.tap(move |datagram| {
                if datagram.payload[0] != BOTH {
                    return Verdict::Pass;
                }
                *hold.lock().unwrap() = Some(datagram.clone());
                if repeated { Verdict::Pass } else { Verdict::Drop }
            });
            let connection = connect(&network, &cache, open()).await.unwrap();
            say(&connection, &["one"]).await;
            connection.agreed().await.unwrap();
            if repeated {
                hear(&connection, &["one"]).await;
            }
            let late = held.lock().unwrap().take().unwrap();
            network.inject(&late).unwrap();
            hear(&connection, &["one"]).await;
            say(&connection, &["two"]).await;
            hear(&connection, &["two"]).await;
            assert_eq!(connection.dropped(), 0);
        });
    }
}

/// The client checks the answer and the data beside it separately: valid data does not make a damaged answer
/// valid.
#[test]
fn each_part_is_checked_as_if_it_came_alone() {
    simulate(7, async |network: Network| {
        let cache = serve_with!(&network, echo);
        network.tap(|datagram| {
            if let Some((answer, _)) = wire::parts(&datagram.payload) {
                // The damaged byte lies within the answer.
                let at = 6 + answer.len() / 2;
                datagram.payload[at] ^= 1;
            }
            Verdict::Pass
        });
        let before = network.runtime().now();
        let connection = connect(&network, &cache, open()).await.unwrap();
        say(&connection, &["one"]).await;
        hear(&connection, &["one"]).await;
        assert!(network.runtime().now() - before >= Duration::from_millis(100), "the offer was repeated");
        assert_eq!(connection.explain().zero_rtt(), Some(&ZeroRtt::Taken(1)));
        pause(&network, Duration::from_secs(1)).await;
        say(&connection, &["two"]).await;
        hear(&connection, &["two"]).await;
    });
}
