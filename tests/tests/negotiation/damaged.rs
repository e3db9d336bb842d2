//! A network that damages messages, as a network does behind a card that computes UDP's checksums anew; the
//! messages are requests and replies like kvstore's.

use crate::scene::{CLIENT, SERVER, bytes, client, serve, server_addr, simulate};
use bertha_chunnels::Checksum;
use bertha_core::{Bottom, Buf, Connection, make_stack};
use bertha_datapath_sim::{Link, Network, SimDatapath};
use bertha_negotiation::{Negotiate, Runs};
use bertha_tests::with_seeds;
use futures_util::future::{Either, select};
use std::pin::pin;
use std::time::Duration;

/// Makes a request from which the test can tell if a reply is right.
fn request(number: u64) -> [u8; 64] {
    let mut request = [0; 64];
    for (at, word) in request.chunks_mut(8).enumerate() {
        word.copy_from_slice(
            &number.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(at as u32).to_le_bytes(),
        );
    }
    request
}

/// Returns the number of wrong replies to `count` requests. Each request is repeated until a reply of its
/// length comes. Sometimes both ends are silent for minutes.
async fn wrong_replies<S>(network: &Network, stack: S, count: u64) -> usize
where
    S: Negotiate + Clone + Sync + 'static,
    SimDatapath: Runs<S, Out: Connection<Data = Buf>>,
{
    serve(network, stack.clone()).await;
    let store = stack.connect(client(network), server_addr()).await.unwrap();
    let link = Link { corruption: 0.01, delay: Duration::from_millis(1), ..Link::default() };
    network.set_link_between(CLIENT, SERVER, link);
    network.set_link_between(SERVER, CLIENT, link);
    let runtime = network.runtime();
    let mut wrong = 0;
    for number in 0..count {
        let reply = loop {
            store.send(bytes(&request(number))).await.unwrap();
            let late = pin!(runtime.sleep(Duration::from_millis(20)));
            match select(pin!(store.recv()), late).await {
                Either::Left((reply, _)) => {
                    break reply.unwrap_or_else(|error| panic!("request {number}: {error}"));
                }
                Either::Right(_) => {}
            }
        };
        wrong += usize::from(*reply != request(number));
        if number % 500 == 0 {
            runtime.sleep(Duration::from_secs(600)).await;
        }
    }
    wrong
}

#[test]
fn damage_ends_no_connection_and_with_checksums_no_reply_is_wrong() {
    with_seeds(20, |seed| {
        simulate(seed, async |network: Network| {
            assert_eq!(wrong_replies(&network, make_stack!(Checksum::new()), 2_000).await, 0);
        });
    });
}

#[test]
fn without_checksums_replies_are_wrong_but_no_connection_ends() {
    with_seeds(20, |seed| {
        simulate(seed, async |network: Network| {
            assert!(wrong_replies(&network, Bottom, 2_000).await > 0);
        });
    });
}
