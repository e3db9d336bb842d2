//! An observer that has seen every message of two ends, and wants to end their connection.

use crate::scene::{A, bytes, client, server, server_addr, simulate};
use bertha_core::{Buf, Connection, make_stack};
use bertha_datapath_sim::{Datagram, Network, Verdict};
use bertha_negotiation::testing::wire::{self, HEADER, Kind, Tag, VERSION};
use bertha_negotiation::{Credentials, IdentityKey, Negotiate, Settings, SharedKey};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The bit that is set in the version byte of a message with a proof.
const PROVEN: u8 = 0x80;

/// The bit that is set in the first byte of a server's messages.
const FROM_SERVER: u8 = 0x40;

/// All messages that went over the wire, with the address of the client and the tag of its connection.
#[derive(Default)]
struct Observed {
    messages: Vec<Vec<u8>>,
    client: Option<(SocketAddr, Tag)>,
    /// Number of questions that the attacker has asked.
    asked: usize,
}

/// Observes all messages. Before the server gets an offer, the attacker asks it about the connection in the
/// client's name, since the reply may contain a secret that ends the connection later.
fn observe(network: &Network) -> Arc<Mutex<Observed>> {
    let observed = Arc::<Mutex<Observed>>::default();
    let (record, asking) = (observed.clone(), network.clone());
    network.tap(move |datagram| {
        let mut record = record.lock().unwrap();
        record.messages.push(datagram.payload.clone());
        let Some((Kind::Offer, tag)) = wire::header(&datagram.payload) else { return Verdict::Pass };
        record.client = Some((datagram.from, tag));
        // The server gets a question in place of each of the first offers.
        let Some(payload) = questions(tag).nth(record.asked) else { return Verdict::Pass };
        record.asked += 1;
        asking.inject(&Datagram { payload, ..datagram.clone() }).unwrap();
        Verdict::Drop
    });
    observed
}

/// Makes a client's messages about a connection that the server does not know, long enough for every reply.
fn questions(tag: Tag) -> impl Iterator<Item = Vec<u8>> {
    let kinds = [Kind::Data, Kind::KeepAlive, Kind::Close].into_iter();
    kinds.flat_map(move |kind| {
        let bare = [&tag.header(kind)[..], &[0; 56]].concat();
        [bare, proven(tag, kind as u8, &[0; 40])]
    })
}

/// Makes a whole message with these bytes in the place of fields and proof.
fn proven(tag: Tag, first: u8, bytes: &[u8]) -> Vec<u8> {
    let mut message = tag.header(Kind::Data).to_vec();
    message[0] = first;
    message.push(VERSION | PROVEN);
    message.extend(bytes);
    message.extend(crc32fast::hash(&message).to_le_bytes());
    message
}

/// Makes the attacker's messages from an observed message: a reset with each field that the message may hold,
/// and every other message about the connection with equal contents.
fn forged(tag: Tag, seen: &[u8]) -> Vec<Vec<u8>> {
    let firsts: Vec<u8> = (4..=8).chain([11]).flat_map(|kind| [kind, kind | FROM_SERVER]).collect();
    let mut forged: Vec<_> = seen
        .windows(16)
        .flat_map(|field| {
            [Kind::Reset as u8, Kind::Reset as u8 | FROM_SERVER].map(|first| proven(tag, first, field))
        })
        .collect();
    if let Some(rest) = seen.get(HEADER + 1..seen.len().saturating_sub(4)) {
        forged.extend(firsts.iter().map(|first| proven(tag, *first, rest)));
    }
    forged.extend(firsts.iter().map(|first| {
        let mut bare = tag.header(Kind::Data).to_vec();
        bare[0] = *first;
        bare
    }));
    forged.extend(firsts.iter().map(|first| {
        let mut plain = tag.header(Kind::Data).to_vec();
        plain[0] = *first;
        plain.push(VERSION);
        plain.extend(crc32fast::hash(&plain).to_le_bytes());
        plain
    }));
    forged.push(seen.to_vec());
    forged
}

async fn say(from: &impl Connection<Data = Buf>, to: &impl Connection<Data = Buf>) {
    from.send(bytes(b"still here")).await.unwrap();
    assert_eq!(*to.recv().await.unwrap(), *b"still here");
}

fn settings(credentials: Credentials) -> Settings {
    let mut settings = Settings::default();
    settings.credentials = credentials;
    settings
}

#[test]
fn an_observer_ends_no_authenticated_connection() {
    let theirs = IdentityKey::from_seed([2; 32]);
    let pinning = Credentials::default().trusting([theirs.public()]);
    let shared = || Credentials::shared(SharedKey::new([1; 32]));
    for (at_client, at_server) in [(shared(), shared()), (pinning, Credentials::default().identity(theirs))] {
        simulate(6, async |network: Network| {
            let observed = observe(&network);
            let listening =
                make_stack!(A).listen(server(&network), server_addr()).settings(settings(at_server));
            let mut incoming = listening.await.unwrap();
            let stack = make_stack!(A);
            let connecting = stack.connect(client(&network), server_addr()).settings(settings(at_client));
            let (served, connected) =
                futures_util::join!(incoming.next_or_refusal(), connecting.into_future());
            let (client, server) = (connected.unwrap(), served.unwrap().unwrap());
            // The attacker observes keep-alives, with all that they carry.
            let hearing = futures_util::future::join(client.recv(), server.recv());
            let pause = network.runtime().sleep(Duration::from_secs(20));
            drop(futures_util::future::select(std::pin::pin!(hearing), std::pin::pin!(pause)).await);
            say(&client, &server).await;
            say(&server, &client).await;
            network.untap();
            let Observed { messages, client: at, .. } = std::mem::take(&mut *observed.lock().unwrap());
            let ((client_addr, tag), server_addr) = (at.unwrap(), server_addr().ip("test").unwrap());
            let kinds = messages.iter().filter_map(|message| wire::header(message)).map(|it| it.0);
            assert!(
                [Kind::Answer, Kind::Confirm, Kind::KeepAlive, Kind::Reset]
                    .map(|kind| { kinds.clone().any(|it| it == kind) })
                    == [true; 4]
            );
            for (number, payload) in messages.iter().flat_map(|seen| forged(tag, seen)).enumerate() {
                for (from, to) in [(client_addr, server_addr), (server_addr, client_addr)] {
                    network.inject(&Datagram { from, to, payload: payload.clone() }).unwrap();
                }
                if number % 100 == 0 {
                    say(&client, &server).await;
                    say(&server, &client).await;
                }
            }
            say(&client, &server).await;
            say(&server, &client).await;
        });
    }
}
