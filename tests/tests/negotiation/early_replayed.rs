//! First flights that an attacker has recorded and sends again when the server can't remember them.

use crate::early_scene::{
    History, connect, hear, heard, known, learn_at, open, over, pause, record, say, with,
};
use crate::scene::{A, B, SERVER, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Addr, Connection, make_stack, select};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{Credentials, EarlyStatistics, Incoming, Negotiate, Settings, SharedKey, ZeroRtt};
use bertha_tests::with_seeds;
use futures_util::future::select as first_of;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Returns the credentials of the cases: none, and a shared key.
fn each() -> [Credentials; 2] {
    [Credentials::default(), Credentials::shared(SharedKey::new([1; 32]))]
}

fn settings(credentials: &Credentials) -> Settings {
    with(|settings| settings.credentials = credentials.clone())
}

/// Returns a first flight that a server has taken, with another port of the client as its sender, and the
/// server's history.
async fn recorded(network: &Network, credentials: &Credentials) -> (Datagram, History) {
    let both = [settings(credentials), settings(credentials)];
    let (cache, history) = known(network, over!(select!(A, B)), both).await;
    let flight = Arc::new(Mutex::new(None::<Datagram>));
    let seen = flight.clone();
    network.tap(move |datagram| {
        if datagram.payload[0] == Kind::Early as u8 {
            seen.lock().unwrap().get_or_insert(datagram.clone());
        }
        Verdict::Pass
    });
    let connection = connect(network, &cache, settings(credentials)).await.unwrap();
    say(&connection, &["pay"]).await;
    hear(&connection, &["pay"]).await;
    bertha_core::Connection::close(&connection).await.unwrap();
    network.untap();
    assert_eq!(heard(&history), [["pay"]]);
    let mut flight = flight.lock().unwrap().clone().unwrap();
    flight.from.set_port(7);
    (flight, history)
}

/// Replays the flight, and returns all messages that then arrive at the server.
async fn received(network: &Network, flight: &Datagram, history: &History) -> Vec<String> {
    network.answer_closed_ports(false);
    history.lock().unwrap().clear();
    network.inject(flight).unwrap();
    pause(network, Duration::from_secs(5)).await;
    history.lock().unwrap().concat()
}

/// The ticket of the flight is fresh for this time, so the server recognises the replay only because it
/// remembers the flight.
#[test]
fn a_flight_that_is_said_again_within_ten_seconds_is_known() {
    for credentials in each() {
        with_seeds(10, |seed| {
            simulate(seed, async |network: Network| {
                let (mut flight, history) = recorded(&network, &credentials).await;
                pause(&network, Duration::from_millis(seed % 10 * 700)).await;
                // The flight comes from the client's own address, and from other addresses.
                for port in [5000, 7, 8] {
                    flight.from.set_port(port);
                    network.answer_closed_ports(false);
                    history.lock().unwrap().clear();
                    network.inject(&flight).unwrap();
                    pause(&network, Duration::from_millis(500)).await;
                    assert_eq!(history.lock().unwrap().concat(), [""; 0], "seed {seed}, port {port}");
                }
            });
        });
    }
}

/// Further copies of the flight come before the server has built a stack for the first copy.
#[test]
fn a_flight_that_is_said_many_times_at_once_is_received_once() {
    for credentials in each() {
        with_seeds(20, |seed| {
            simulate(seed, async |network: Network| {
                network.answer_closed_ports(false);
                let both = [settings(&credentials), settings(&credentials)];
                let (cache, history) = known(&network, over!(select!(A, B)), both).await;
                let attacker = network.clone();
                network.tap(move |datagram| {
                    if datagram.payload[0] == Kind::Early as u8 {
                        for port in 7..12 {
                            let mut flight = datagram.clone();
                            flight.from.set_port(port);
                            attacker.inject(&flight).unwrap();
                        }
                    }
                    Verdict::Pass
                });
                let connection = connect(&network, &cache, settings(&credentials)).await.unwrap();
                say(&connection, &["pay"]).await;
                pause(&network, Duration::from_secs(5)).await;
                assert_eq!(history.lock().unwrap().concat(), ["pay"], "seed {seed}");
            });
        });
    }
}

#[test]
fn a_flight_that_the_server_has_forgotten_is_too_old() {
    for credentials in each() {
        simulate(1, async |network: Network| {
            let (flight, history) = recorded(&network, &credentials).await;
            pause(&network, Duration::from_secs(100)).await;
            assert_eq!(received(&network, &flight, &history).await, [""; 0]);
        });
    }
}

#[test]
fn a_flight_is_of_no_use_after_a_restart() {
    for credentials in each() {
        simulate(2, async |network: Network| {
            let (flight, _) = recorded(&network, &credentials).await;
            network.restart(SERVER);
            let listening = over!(select!(A, B)).listen(server(&network), server_addr());
            let history = record(&network, listening.settings(settings(&credentials)).await.unwrap());
            assert_eq!(received(&network, &flight, &history).await, [""; 0]);
        });
    }
}

#[test]
fn a_flight_is_of_no_use_at_another_server_that_has_the_key() {
    for credentials in each() {
        simulate(3, async |network: Network| {
            let other: Addr = ([10, 0, 0, 9], 4242).into();
            let listening = over!(select!(A, B)).listen(network.host([10, 0, 0, 9]), other.clone());
            let history = record(&network, listening.settings(settings(&credentials)).await.unwrap());
            let (mut flight, _) = recorded(&network, &credentials).await;
            flight.to = other.ip("test").unwrap();
            assert_eq!(received(&network, &flight, &history).await, [""; 0]);
        });
    }
}

/// The statistics of both ends tell the fate of first flights.
#[test]
fn first_flights_are_counted_by_their_fate() {
    simulate(4, async |network: Network| {
        network.answer_closed_ports(false);
        let listening = over!(select!(A, B)).listen(server(&network), server_addr());
        let mut incoming = listening.settings(open()).await.unwrap();
        let cache = learn_at(&network, &mut incoming, open()).await;
        let told = |incoming: &Incoming<_, _>| {
            let told = incoming.statistics();
            (told.flights_taken, told.flights_not_taken, told.flights_replayed)
        };
        assert_eq!(told(&incoming), (0, 0, 0), "no client had a ticket");
        let flight = Arc::new(Mutex::new(None::<Datagram>));
        let seen = flight.clone();
        network.tap(move |datagram| {
            if datagram.payload[0] == Kind::Early as u8 {
                seen.lock().unwrap().get_or_insert(datagram.clone());
            }
            Verdict::Pass
        });
        let connection = connect(&network, &cache, open()).await.unwrap();
        let outcome = || connection.statistics().get::<EarlyStatistics>().unwrap().zero_rtt.clone();
        assert_eq!(outcome(), ZeroRtt::Unanswered);
        say(&connection, &["pay"]).await;
        let served = incoming.next().await.unwrap();
        assert_eq!(served.recv().await.unwrap(), "pay");
        connection.agreed().await.unwrap();
        assert_eq!((outcome(), told(&incoming)), (ZeroRtt::Taken(1), (1, 0, 0)));
        let line = connection.statistics().to_string();
        assert!(
            line.starts_with("Early: first flight taken, taken messages 1, resent messages 0\n"),
            "{line}"
        );

        // A replay within the memory, and after it: then its ticket is too old.
        let mut flight = flight.lock().unwrap().clone().unwrap();
        flight.from.set_port(7);
        network.inject(&flight).unwrap();
        first_of(pin!(incoming.next()), pin!(pause(&network, Duration::from_secs(1)))).await;
        assert_eq!(told(&incoming), (1, 0, 1));
        first_of(pin!(incoming.next()), pin!(pause(&network, Duration::from_secs(100)))).await;
        flight.from.set_port(8);
        network.inject(&flight).unwrap();
        first_of(pin!(incoming.next()), pin!(pause(&network, Duration::from_secs(1)))).await;
        assert_eq!(told(&incoming), (1, 1, 1));
    });
}
