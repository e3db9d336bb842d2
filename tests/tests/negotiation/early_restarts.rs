//! Clients that restart on their port and send data before the server has their confirmation.

use crate::early_scene::{History, heard, known, over, say, with};
use crate::scene::{A, B, CLIENT, SERVER, bytes, client, server, server_addr, simulate};
use bertha_chunnels::Serialize;
use bertha_core::{Connection, ErrorKind, make_stack, select};
use bertha_datapath_sim::{Network, Verdict};
use bertha_negotiation::testing::wire::Kind;
use bertha_negotiation::{Credentials, EarlyCache, Negotiate, Settings, SharedKey};
use futures_util::future::select as first_of;
use futures_util::join;
use std::pin::pin;
use std::time::Duration;

const MESSAGES: [&str; 3] = ["one", "two", "three"];

fn settings(has_key: bool) -> Settings {
    with(|settings| {
        settings.first_flight = 1;
        if has_key {
            settings.credentials = Credentials::shared(SharedKey::new([1; 32]));
        }
    })
}

/// Loses the first `count` confirmations and nothing else.
fn lose_confirmations(network: &Network, mut count: u32) {
    network.tap(move |datagram| {
        if count > 0 && datagram.payload.first() == Some(&(Kind::Confirm as u8)) {
            count -= 1;
            return Verdict::Drop;
        }
        Verdict::Pass
    });
}

/// Starts a server that still has a connection from port 5000, whose client has restarted.
async fn leave_behind(network: &Network, has_key: bool) -> (EarlyCache, History) {
    let (cache, history) = known(network, over!(select!(A, B)), [settings(has_key), settings(has_key)]).await;
    let from = client(network).from_port(5000);
    let old = over!(select!(A, B)).connect(from, server_addr()).settings(settings(has_key)).await.unwrap();
    say(&old, &["old"]).await;
    assert_eq!(old.recv().await.unwrap(), "old");
    network.cut(CLIENT, SERVER);
    drop(old);
    network.restart(CLIENT);
    network.heal_all();
    (cache, history)
}

/// Returns the messages that the server has received after a client has restarted and sent [`MESSAGES`], at
/// most `first_flight` of them in its first flight, while the network lost `lost` confirmations.
fn received_after_restart(has_key: bool, first_flight: usize, lost: u32) -> Vec<Vec<String>> {
    simulate(1, async |network: Network| {
        let (cache, history) = leave_behind(&network, has_key).await;
        lose_confirmations(&network, lost);
        let stack = over!(select!(A, B));
        let mut settings = settings(has_key);
        settings.first_flight = first_flight;
        let from = client(&network).from_port(5000);
        let connecting = stack.connect(from, server_addr()).early(&cache).settings(settings);
        let connection = connecting.await.unwrap();
        say(&connection, &MESSAGES).await;
        let late = network.runtime().sleep(Duration::from_secs(20));
        first_of(pin!(async { while connection.recv().await.is_ok() {} }), pin!(late)).await;
        heard(&history)
    })
}

/// The data comes before the confirmation, and the server has the client repeat the confirmation.
#[test]
fn data_before_the_confirmation_waits_for_it_on_a_port_in_use() {
    for (has_key, lost) in [(false, 1), (true, 1), (false, 2), (true, 2)] {
        let received = received_after_restart(has_key, 1, lost);
        assert_eq!(received, [vec!["old"], MESSAGES.to_vec()], "has key: {has_key}, lost: {lost}");
    }
}

/// The server decides about each part of a burst, and the answer that the client believes is the answer that
/// holds.
#[test]
fn a_burst_on_a_port_in_use_is_received_once() {
    for (has_key, lost) in [(false, 0), (true, 0), (false, 1), (true, 1)] {
        let received = received_after_restart(has_key, 5, lost);
        assert_eq!(received, [vec!["old"], MESSAGES.to_vec()], "has key: {has_key}, lost: {lost}");
    }
}

/// A reader of the earlier connection takes the confirmation and the data behind it in one call.
#[test]
fn data_behind_the_confirmation_in_one_batch_is_not_a_strangers() {
    simulate(2, async |network: Network| {
        let (stack, from) = (make_stack!(), client(&network).from_port(5000));
        let mut incoming = stack.listen(server(&network), server_addr()).await.unwrap();
        let connecting = stack.connect(from.clone(), server_addr());
        let (old, served) = join!(connecting.into_future(), incoming.next_or_refusal());
        let served = served.unwrap().unwrap();
        network.cut(CLIENT, SERVER);
        drop(old.unwrap());
        network.restart(CLIENT);
        network.heal_all();
        let reborn = async {
            let connection = stack.connect(from, server_addr()).await.unwrap();
            for number in 0..3 {
                connection.send(bytes(&[number])).await.unwrap();
            }
            connection
        };
        let mut messages = Vec::new();
        let (end, accepted, _reborn) =
            join!(served.recv_batch(&mut messages, 64), incoming.next_or_refusal(), reborn);
        assert_eq!(end.unwrap_err().kind(), ErrorKind::Reset);
        let accepted = accepted.unwrap().unwrap();
        for number in 0..3 {
            assert_eq!(*accepted.recv().await.unwrap(), [number]);
        }
    });
}
