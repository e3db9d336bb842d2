//! An observer that plays back, in a client's name and just while the client's confirmation is on its way, the offers of its earlier
//! connections: more than a server keeps for an address.

use crate::scene::{A, CLIENT, SERVER, bytes, client, echo, server, server_addr, simulate};
use bertha_core::{Connection, Runtime, make_stack};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::wire::{self, Kind};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Settings, SharedKey};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PORT: u16 = 5000;

/// More than twice the places for an address.
const RECORDED: usize = 10;

/// The settings of both ends.
fn shared() -> [Settings; 2] {
    with([Credentials::shared(SharedKey::new([7; 32])), Credentials::shared(SharedKey::new([7; 32]))])
}

/// The same with signatures, of which the server makes fewer a second for unproven addresses than there are recorded offers.
fn signed() -> [Settings; 2] {
    let key = IdentityKey::from_seed([2; 32]);
    let trusting = Credentials::default().trusting([key.public()]);
    let [at_client, mut at_server] = with([trusting, Credentials::default().identity(key)]);
    at_server.unproven_clients = RECORDED - 2;
    [at_client, at_server]
}

fn with(credentials: [Credentials; 2]) -> [Settings; 2] {
    credentials.map(|credentials| {
        let mut settings = Settings::default();
        settings.credentials = credentials;
        settings
    })
}

fn is_offer(datagram: &Datagram) -> bool {
    matches!(wire::header(&datagram.payload), Some((Kind::Offer, _)))
}

/// Records offers.
fn recorder(network: &Network) -> Arc<Mutex<Vec<Datagram>>> {
    let recorded = Arc::<Mutex<Vec<Datagram>>>::default();
    let record = recorded.clone();
    network.tap(move |datagram| {
        if is_offer(datagram) {
            record.lock().unwrap().push(datagram.clone());
        }
        Verdict::Pass
    });
    recorded
}

/// Plays these back whenever the server answers an offer that is none of them.
fn play_back(network: &Network, offers: Vec<Datagram>) {
    let attacker = network.clone();
    let known: Vec<_> = offers.iter().map(|offer| wire::header(&offer.payload).unwrap().1).collect();
    network.tap(move |datagram| {
        if let Some((Kind::Answer, tag)) = wire::header(&datagram.payload)
            && !known.contains(&tag)
        {
            offers.iter().for_each(|offer| attacker.inject(offer).unwrap());
        }
        Verdict::Pass
    });
}

async fn echoes(network: &Network, settings: &Settings, within: Duration) {
    let (runtime, from) = (network.runtime(), client(network).from_port(PORT));
    let before = runtime.now();
    let connection = make_stack!(A).connect(from, server_addr()).settings(settings.clone()).await.unwrap();
    // Whatever is sent before the server knows the client may be lost with its place.
    let echo = loop {
        connection.send(bytes(b"hello")).await.unwrap();
        let late = pin!(runtime.sleep(Duration::from_millis(50)));
        if let Either::Left((echo, _)) = select(pin!(connection.recv()), late).await {
            break echo.unwrap();
        }
    };
    assert_eq!(*echo, *b"hello");
    assert!(runtime.now() - before < within, "{:?}", runtime.now() - before);
    connection.close().await.unwrap();
    drop(connection);
    // A task has the port until the server has seen the close.
    runtime.sleep(Duration::from_secs(30)).await;
}

/// A client that connects while all its earlier offers are played back.
fn connects(seed: u64, [at_client, at_server]: [Settings; 2]) {
    simulate(seed, async |network: Network| {
        let listening = make_stack!(A).listen(server(&network), server_addr()).settings(at_server);
        echo(&network, listening.await.unwrap(), |_| {});
        let recorded = recorder(&network);
        for _ in 0..RECORDED {
            echoes(&network, &at_client, Duration::from_secs(1)).await;
        }
        let offers = std::mem::take(&mut *recorded.lock().unwrap());
        assert!(offers.len() >= RECORDED, "{}", offers.len());
        play_back(&network, offers);
        for _ in 0..2 {
            echoes(&network, &at_client, Duration::from_secs(2)).await;
        }
    });
}

/// The same on an address whose earlier connection the server still has. There the listener decides about an offer after the link has
/// read the confirmation behind it.
fn connects_again(seed: u64, [at_client, at_server]: [Settings; 2]) {
    simulate(seed, async |network: Network| {
        let listening = make_stack!(A).listen(server(&network), server_addr()).settings(at_server);
        echo(&network, listening.await.unwrap(), |_| {});
        let recorded = recorder(&network);
        for _ in 0..RECORDED {
            echoes(&network, &at_client, Duration::from_secs(1)).await;
        }
        let offers = std::mem::take(&mut *recorded.lock().unwrap());
        let (stack, from) = (make_stack!(A), client(&network).from_port(PORT));
        let connection = stack.connect(from, server_addr()).settings(at_client.clone()).await.unwrap();
        network.cut(CLIENT, SERVER);
        drop(connection);
        network.restart(CLIENT);
        network.heal_all();
        play_back(&network, offers);
        echoes(&network, &at_client, Duration::from_secs(2)).await;
    });
}

#[test]
fn offers_of_the_past_push_no_client_out_that_confirms() {
    with_seeds(20, |seed| connects(seed, shared()));
}

#[test]
fn nor_one_whose_server_makes_no_further_signatures() {
    with_seeds(5, |seed| connects(seed, signed()));
}

#[test]
fn nor_one_that_has_restarted() {
    with_seeds(20, |seed| connects_again(seed, shared()));
}

#[test]
fn nor_one_that_has_restarted_whose_server_makes_no_further_signatures() {
    with_seeds(5, |seed| connects_again(seed, signed()));
}
