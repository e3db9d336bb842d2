//! An observer that sees all messages of two ends and can send any message in either end's name, and the
//! calls of the ends meanwhile.

use crate::scene::{bytes, client, server, server_addr};
use bertha_core::{Buf, Connection, Role, Runtime};
use bertha_datapath_sim::{Datagram, Network, SimDatapath, Verdict};
use bertha_negotiation::testing::wire::{self, Close, Confirm, Kind, Tag};
use bertha_negotiation::{Negotiate, Negotiated, Runs, Settings};
use futures_util::future::{Either, join, select as first_of};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

pub(crate) type Out<S> = Negotiated<<SimDatapath as Runs<S>>::Out>;

/// All messages that went over the wire.
pub(crate) type Seen = Arc<Mutex<Vec<Datagram>>>;

pub(crate) fn watch(network: &Network) -> Seen {
    let seen = Seen::default();
    let record = seen.clone();
    network.tap(move |datagram| {
        record.lock().unwrap().push(datagram.clone());
        Verdict::Pass
    });
    seen
}

/// Returns the id of the connection whose offer was seen first, and the addresses of client and server.
pub(crate) fn learned(seen: &Seen) -> (u64, Datagram) {
    let seen = seen.lock().unwrap();
    let first = seen.iter().find(|it| wire::offer_in(&it.payload).is_some()).unwrap();
    let (offer, _) = wire::offer_in(&first.payload).unwrap();
    (postcard::take_from_bytes(&offer[wire::HEADER + 1..]).unwrap().0, first.clone())
}

/// Returns the message as the end with this role would have sent it.
fn as_from(role: Role, message: &[u8]) -> Vec<u8> {
    let mut message = message.to_vec();
    let (Some((kind, tag)), Some(_)) = (wire::header(&message), wire::sender(&message)) else {
        return message;
    };
    message[..wire::HEADER].copy_from_slice(&tag.header_from(role, kind));
    if message.len() > wire::HEADER {
        let end = message.len() - 4;
        let check = crc32fast::hash(&message[..end]);
        message[end..].copy_from_slice(&check.to_le_bytes());
    }
    message
}

/// Sends the payload to each end in the name of its peer.
pub(crate) fn tell_both(network: &Network, to_server: &Datagram, payload: &[u8]) {
    let there = Datagram { payload: as_from(Role::Client, payload), ..to_server.clone() };
    let payload = as_from(Role::Server, payload);
    let here = Datagram { from: there.to, to: there.from, payload };
    network.inject(&there).unwrap();
    network.inject(&here).unwrap();
}

pub(crate) async fn connect<S>(
    network: &Network,
    stack: impl Fn() -> S,
    settings: &Settings,
) -> (Out<S>, Out<S>)
where
    S: bertha_core::Describe + Send + Sync + 'static,
    SimDatapath: Runs<S>,
{
    let listening = stack();
    let mut incoming =
        listening.listen(server(network), server_addr()).settings(settings.clone()).await.unwrap();
    let connecting = stack();
    let connecting =
        connecting.connect(client(network).from_port(5000), server_addr()).settings(settings.clone());
    let (served, connected) = join(incoming.next_or_refusal(), connecting.into_future()).await;
    let ends = (connected.unwrap(), served.unwrap().unwrap());
    // The listener goes on, for clients that come back.
    let runtime = network.runtime().clone();
    std::mem::forget(runtime.spawn(async move { while incoming.next().await.is_some() {} }));
    ends
}

pub(crate) async fn pause(network: &Network, time: Duration) {
    network.runtime().sleep(time).await;
}

/// Receives at both ends until no message comes for a while. Then sends a message each way.
pub(crate) async fn still_talk(
    network: &Network,
    client: &impl Connection<Data = Buf>,
    server: &impl Connection<Data = Buf>,
) {
    let quiet = pin!(pause(network, Duration::from_millis(400)));
    let received = pin!(join(client.recv(), server.recv()));
    if let Either::Left((received, _)) = first_of(received, quiet).await {
        panic!("{received:?}");
    }
    let (sent, received) = join(client.send(bytes(b"there")), server.recv()).await;
    sent.unwrap();
    assert_eq!(*received.unwrap(), *b"there");
    let (sent, received) = join(server.send(bytes(b"back")), client.recv()).await;
    sent.unwrap();
    assert_eq!(*received.unwrap(), *b"back");
}

/// Makes all messages that could end the connection with this id.
pub(crate) fn endings(id: u64) -> Vec<Vec<u8>> {
    let tag = Tag::of(id);
    let close =
        |failure: &str| wire::encode(Kind::Close, tag, &Close { id, failure: failure.into() }).unwrap();
    let mut all = vec![
        close(""),
        close("no"),
        tag.header(Kind::Reset).to_vec(),
        tag.header(Kind::CloseSeen).to_vec(),
        tag.header(Kind::KeepAlive).to_vec(),
        wire::encode(Kind::Reset, tag, &[7_u8; 16]).unwrap(),
        wire::encode(Kind::Confirm, tag, &Confirm { id, number: 5 }).unwrap(),
    ];
    // These messages have bytes in the place of counter and MAC.
    for mut message in all.clone().into_iter().filter(|message| message.len() > wire::HEADER) {
        message.truncate(message.len() - 4);
        message[wire::HEADER] |= 0x80;
        message.extend([3; 24]);
        let check = crc32fast::hash(&message);
        message.extend(check.to_le_bytes());
        all.push(message);
    }
    all
}

pub(crate) async fn while_receiving<T>(
    upgrading: impl Future<Output = T>,
    client: &impl Connection<Data = Buf>,
    server: &impl Connection<Data = Buf>,
) -> T {
    match first_of(pin!(upgrading), pin!(join(client.recv(), server.recv()))).await {
        Either::Left((upgraded, _)) => upgraded,
        Either::Right((received, _)) => panic!("{received:?}"),
    }
}
