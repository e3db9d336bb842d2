use super::configuration::Configuration;
use super::handshake::{Answer, HandshakeRequest, Initiator, Responder};
use super::keychain::EPOCH;
use super::primitives::Ephemeral;
use super::session::Session;
use super::{Noise, NoiseConnection, NoiseKey, wire};
use bertha_core::guarantee::{PeerIdentified, Set};
use bertha_core::{
    Addr, Base, BoxFuture, Buf, Chunnel, ConnectContext, Connected, Connection, Connector, Describe, Error,
    ErrorKind, Node, PeerIdentity, Role, Secured, SecuredCell,
};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_runtime::tokio::TokioRuntime;
use std::sync::atomic::Ordering::Relaxed;
use zeroize::Zeroizing;

type End = NoiseConnection<PairConnection<TokioRuntime, Buf>>;

/// A connector that opens no further connections.
struct Alone;

impl<Inner> Connector<Inner> for Alone {
    fn connect<'a>(&'a self, _: Addr, _: Vec<Node>) -> BoxFuture<'a, Result<Connected<Inner>, Error>>
    where
        Inner: 'a,
    {
        Box::pin(async { Err(Error::new(ErrorKind::Unavailable, "alone")) })
    }
}

/// Returns the two ends of a connection, and the report of each.
async fn reported(client: &Noise, server: &Noise) -> [(End, Secured); 2] {
    let (here, there) = pair_of::<_, Buf>(TokioRuntime);
    let reports = [SecuredCell::default(), SecuredCell::default()];
    let context = |role, report| ConnectContext::new(&Alone, role).with_secured(report);
    let (here, there) = tokio::join!(
        client.connect_wrap(here, context(Role::Client, &reports[0])),
        server.connect_wrap(there, context(Role::Server, &reports[1])),
    );
    let [here_report, there_report] = reports.map(|report| report.get().unwrap().clone());
    [(here.unwrap(), here_report), (there.unwrap(), there_report)]
}

/// Two ends with different keys are told so in words, by the identifiers of their keys.
#[test]
fn keys_that_differ_are_told_apart_by_their_identifiers() {
    let [one, other] = [[1; 32], [2; 32]].map(|key| Noise::shared(&key).nodes());
    let static_keys = Noise::client(NoiseKey::from_bytes([3; 32]), [4; 32]).nodes();
    let told = |ours: &[Node], theirs: &[Node]| {
        let [Node::Layer(ours), Node::Layer(theirs)] = [&ours[0], &theirs[0]] else { panic!("no layer") };
        let theirs = theirs.capability();
        let compared = ours.capability().compare(theirs.id(), theirs.version(), &theirs.encode().unwrap());
        compared.unwrap_err().to_string()
    };
    let text = told(&one, &other);
    let digits = text.split(|c: char| !c.is_ascii_hexdigit()).filter(|word| word.len() == 16).count();
    assert!(text.starts_with("identifier of the shared key: the server has ") && digits == 2, "{text}");
    assert_eq!(told(&one, &static_keys), "kind of keys: the server has a shared key, the client static keys");
}

async fn connected() -> (End, End) {
    let noise = Noise::shared(&[7; 32]);
    let [(here, _), (there, _)] = reported(&noise, &noise).await;
    (here, there)
}

fn message(connection: &End, bytes: &[u8]) -> Buf {
    let mut message = connection.base().buffer(bytes.len()).unwrap();
    message.copy_from_slice(bytes);
    message
}

/// Returns the next encrypted message that is no confirmation.
async fn encrypted(end: &End) -> Buf {
    loop {
        let arrived = end.link.inner.recv().await.unwrap();
        if matches!(wire::decode(&arrived), Some(wire::Arrived::Transport(header)) if header.number > 0) {
            return arrived;
        }
    }
}

#[tokio::test]
async fn messages_are_decrypted_and_can_not_be_read_between() {
    let (here, there) = connected().await;
    for bytes in [&b""[..], b"a", b"secret that is long enough to be found"] {
        here.send(message(&here, bytes)).await.unwrap();
        assert_eq!(&*there.recv().await.unwrap(), bytes);
        there.send_batch([message(&there, bytes), message(&there, b"more")].into_iter()).await.unwrap();
        let mut burst = Vec::new();
        while burst.len() < 2 {
            here.recv_batch(&mut burst, 10).await.unwrap();
        }
        assert_eq!((&*burst[0], &*burst[1]), (bytes, &b"more"[..]));
    }
    here.send(message(&here, b"secret")).await.unwrap();
    let arrived = encrypted(&there).await;
    assert_eq!(arrived.len(), wire::HEADER + 6);
    assert!(!arrived.windows(6).any(|bytes| bytes == b"secret"));
}

#[tokio::test]
async fn altered_and_repeated_messages_are_dropped_and_counted() {
    let (here, there) = connected().await;
    here.send(message(&here, b"one")).await.unwrap();
    there.recv().await.unwrap();
    here.send(message(&here, b"two")).await.unwrap();
    let arrived = encrypted(&there).await;
    for at in 0..arrived.len() {
        let mut changed = Buf::copy_of(&arrived, 0).unwrap();
        changed[at] ^= 1;
        assert!(there.decrypt(changed).is_none(), "byte {at} may be changed");
    }
    assert_eq!(there.forged(), arrived.len() as u64);
    let again = Buf::copy_of(&arrived, 0).unwrap();
    assert_eq!(there.decrypt(arrived).as_deref(), Some(&b"two"[..]));
    assert!(there.decrypt(again).is_none());
    assert_eq!(there.repeated(), 1);
}

#[tokio::test]
async fn a_recorded_message_is_accepted_in_no_other_connection_and_by_no_sender() {
    let (here, there) = connected().await;
    here.send(message(&here, b"one")).await.unwrap();
    let recorded = encrypted(&there).await;
    let again = Buf::copy_of(&recorded, 0).unwrap();
    assert!(here.decrypt(again).is_none(), "reflected");
    let (other_here, other_there) = connected().await;
    for end in [&other_here, &other_there] {
        assert!(end.decrypt(Buf::copy_of(&recorded, 0).unwrap()).is_none());
    }
    assert_eq!(&*there.decrypt(recorded).unwrap(), b"one");
}

#[tokio::test]
async fn a_connection_goes_on_under_new_keys() {
    let (here, there) = connected().await;
    for end in [&here, &there] {
        end.next.store((1 << EPOCH) - 2, Relaxed);
    }
    for (from, to) in [(&here, &there), (&there, &here)] {
        // The first message under the new key is lost, and the last message under the old key is late.
        from.send(message(from, b"one")).await.unwrap();
        assert_eq!(&*to.recv().await.unwrap(), b"one");
        from.send(message(from, b"late")).await.unwrap();
        let late = encrypted(to).await;
        from.send(message(from, b"lost")).await.unwrap();
        drop(encrypted(to).await);
        from.send(message(from, b"two")).await.unwrap();
        assert_eq!(&*to.recv().await.unwrap(), b"two");
        assert_eq!(&*to.decrypt(late).unwrap(), b"late");
        assert_eq!((to.forged(), to.repeated()), (0, 0));
    }
}

fn keys() -> (NoiseKey, NoiseKey) {
    (NoiseKey::from_bytes([1; 32]), NoiseKey::from_bytes([2; 32]))
}

/// Returns the configurations of a client and a server, for each pattern.
fn configurations() -> [(Configuration, Configuration); 2] {
    let shared = || Configuration::Shared(Zeroizing::new([7; 32]));
    let (client, server) = keys();
    let trusted = [client.public()].into();
    let client = Configuration::Client { key: client, server: server.public() };
    [(shared(), shared()), (client, Configuration::Server { key: server, trusted })]
}

fn ephemeral(byte: u8) -> Ephemeral {
    Ephemeral::draw(|| u64::from_le_bytes([byte; 8]))
}

fn initiator(configuration: &Configuration, byte: u8) -> Initiator {
    Initiator::new(configuration, Some([5; 32]), ephemeral(byte)).unwrap()
}

fn response(responder: &mut Responder<'_>, initiation: &[u8], byte: u8) -> Vec<u8> {
    match responder.handle(initiation, || u64::from_le_bytes([byte; 8])).unwrap() {
        Some(HandshakeRequest::Respond(response)) => response,
        _ => panic!("no response"),
    }
}

fn session(initiator: &mut Initiator, response: &[u8]) -> Option<Box<Session>> {
    match initiator.handle(response).unwrap() {
        Some(Answer::Response(session)) => Some(session),
        _ => None,
    }
}

/// Returns a message of the initiator on the wire.
fn written(session: &Session, number: u64, bytes: &[u8]) -> Vec<u8> {
    let mut message = bytes.to_vec();
    let tag = session.sending.encrypt(number, &mut message).unwrap();
    [&wire::Header { number, tag }.encode()[..], &message].concat()
}

/// The recording of a connection, with these ephemeral keys of its ends.
struct Recording {
    initiation: Vec<u8>,
    response: Vec<u8>,
    message: Vec<u8>,
}

impl Recording {
    fn make(client: &Configuration, server: &Configuration, [here, there]: [u8; 2]) -> Self {
        let mut initiator = initiator(client, here);
        let mut responder = Responder::new(server, Some([5; 32]));
        let initiation = initiator.initiation.clone();
        let response = response(&mut responder, &initiation, there);
        let message = written(&session(&mut initiator, &response).unwrap(), 1, b"message");
        Self { initiation, response, message }
    }
}

#[test]
fn all_long_term_keys_together_decrypt_no_recording() {
    for (client, server) in configurations() {
        let recording = Recording::make(&client, &server, [1, 2]);
        assert_eq!(Recording::make(&client, &server, [1, 2]).message, recording.message);
        for other in [[1, 3], [3, 2]] {
            assert_ne!(Recording::make(&client, &server, other).message, recording.message);
        }
        let reads = |ephemeral| {
            let mut responder = Responder::new(&server, Some([5; 32]));
            response(&mut responder, &recording.initiation, ephemeral);
            let request = responder.handle(&recording.message, || 0).unwrap();
            matches!(request, Some(HandshakeRequest::Confirmed(_, Some(first))) if *first.message == *b"message")
        };
        // The recording is readable with the server's ephemeral key, and not with all other keys.
        assert!(reads(2) && !reads(3));
        let completes =
            |ephemeral| session(&mut initiator(&client, ephemeral), &recording.response).is_some();
        assert!(completes(1) && !completes(3));
    }
}

#[test]
fn another_key_or_transcript_is_refused_before_any_message() {
    for (client, server) in configurations() {
        let (key, other) = keys();
        let others = [
            Configuration::Shared(Zeroizing::new([8; 32])),
            Configuration::Client { key: key.clone(), server: key.public() },
        ];
        let initiations = others.iter().map(|other| initiator(other, 1).initiation);
        let transcripts = [None, Some([6; 32])];
        let unbound = transcripts.map(|it| Initiator::new(&client, it, ephemeral(1)).unwrap().initiation);
        for initiation in initiations.chain(unbound) {
            let request = Responder::new(&server, Some([5; 32])).handle(&initiation, || 9).unwrap();
            assert!(matches!(request, Some(HandshakeRequest::Refuse(wire::Refusal::Unreadable))));
        }
        // The key is genuine but not trusted.
        let stranger = Configuration::Client { key: other.clone(), server: other.public() };
        let request =
            Responder::new(&server, Some([5; 32])).handle(&initiator(&stranger, 1).initiation, || 9);
        let expected = match server {
            Configuration::Server { .. } => wire::Refusal::Untrusted,
            _ => wire::Refusal::Unreadable,
        };
        assert!(matches!(request.unwrap(), Some(HandshakeRequest::Refuse(reason)) if reason == expected));
        // A response to another initiation, and an altered response.
        let recording = Recording::make(&client, &server, [1, 2]);
        assert!(session(&mut initiator(&client, 4), &recording.response).is_none());
        for at in 1..recording.response.len() {
            let mut altered = recording.response.clone();
            altered[at] ^= 1;
            let mut initiator = initiator(&client, 1);
            assert!(session(&mut initiator, &altered).is_none(), "byte {at} may be changed");
            assert!(session(&mut initiator, &recording.response).is_some(), "the genuine one comes later");
        }
    }
}

#[test]
fn a_replayed_initiation_makes_no_connection_and_does_not_prevent_one() {
    for (client, server) in configurations() {
        let mut responder = Responder::new(&server, Some([5; 32]));
        let replayed: Vec<_> = (10..13).map(|byte| initiator(&client, byte).initiation).collect();
        let mut genuine = initiator(&client, 1);
        response(&mut responder, &replayed[0], 20);
        let first = response(&mut responder, &genuine.initiation, 2);
        for replayed in &replayed {
            response(&mut responder, replayed, 21);
        }
        assert_eq!(response(&mut responder, &genuine.initiation, 3), first, "the same each time");
        // A message recorded after the replayed message fits no session.
        let recording = Recording::make(&client, &server, [10, 30]);
        assert!(responder.handle(&recording.message, || 0).unwrap().is_none());
        let session = session(&mut genuine, &first).unwrap();
        let confirmed = responder.handle(&written(&session, wire::CONFIRMATION, b""), || 0).unwrap();
        assert!(matches!(confirmed, Some(HandshakeRequest::Confirmed(_, None))));
    }
}

#[test]
fn a_message_that_overtakes_the_confirmation_is_kept() {
    for (client, server) in configurations() {
        let (mut initiator, mut responder) = (initiator(&client, 1), Responder::new(&server, Some([5; 32])));
        let response = response(&mut responder, &initiator.initiation, 2);
        let session = session(&mut initiator, &response).unwrap();
        let confirmed = responder.handle(&written(&session, 3, b"early"), || 0).unwrap();
        let Some(HandshakeRequest::Confirmed(_, Some(first))) = confirmed else { panic!("not confirmed") };
        assert_eq!((first.number, &*first.message), (3, &b"early"[..]));
    }
}

#[tokio::test]
async fn the_report_has_a_key_of_its_own_and_the_peer_if_it_is_known() {
    let (client, server) = keys();
    let peers = [server.public(), client.public()].map(|key| Some(PeerIdentity::NoiseKey(key)));
    let (client, server) =
        (Noise::client(client.clone(), server.public()), Noise::server(server, [client.public()]));
    let shared = Noise::shared(&[7; 32]);
    let mut known = Vec::new();
    for (client, server, peers) in
        [(&client, &server, peers.clone()), (&client, &server, peers), (&shared, &shared, [None, None])]
    {
        let [(here, here_report), (there, there_report)] = reported(client, server).await;
        here.send(message(&here, b"one")).await.unwrap();
        assert_eq!(&*there.recv().await.unwrap(), b"one");
        assert_eq!(here_report.control_key(), there_report.control_key());
        assert!(!known.contains(here_report.control_key()));
        known.push(*here_report.control_key());
        assert_eq!([here_report.peer().cloned(), there_report.peer().cloned()], peers);
        for (noise, peer) in [(client, &peers[0]), (server, &peers[1])] {
            let [Node::Layer(layer)] = &noise.nodes()[..] else { panic!("one layer") };
            let unidentified = Set::of::<PeerIdentified>().without(layer.guarantees());
            assert_eq!(unidentified.is_empty(), peer.is_some());
        }
    }
}

#[tokio::test]
async fn the_keys_of_the_other_role_are_refused() {
    let (client, server) = keys();
    let cases = [
        (Noise::client(client.clone(), server.public()), Role::Server, None),
        (Noise::server(server, [client.public()]), Role::Client, Some([5; 32])),
        (Noise::shared(&[7; 32]), Role::Participant { leads: true }, None),
    ];
    for (noise, role, transcript) in cases {
        let (here, _there) = pair_of::<_, Buf>(TokioRuntime);
        let context = ConnectContext::new(&Alone, role).with_transcript(transcript);
        assert_eq!(noise.connect_wrap(here, context).await.err().unwrap().kind(), ErrorKind::Invalid);
    }
}

#[test]
fn no_key_is_shown() {
    let (client, server) = keys();
    let shown = format!("{:?} {:?}", Noise::shared(&[7; 32]), Noise::client(client, server.public()));
    assert_eq!(shown, "Noise { pattern: Shared, .. } Noise { pattern: Static, .. }");
}
