//! The code that a hostile peer reaches, as functions of arbitrary bytes that must hold for all bytes.
//!
//! The fuzzers in `tests/fuzz` call them, and `tests/fuzz_corpus.rs` does so with all inputs that fuzzers
//! found worth keeping. The bytes are the body of a message: check and tag are corrected, since no fuzzer
//! guesses them.

mod archive;
pub mod attach;
pub mod bundle;
pub mod ccp;
pub mod codecs;
mod feed;
mod frames;
pub mod layers;
#[cfg(feature = "quic")]
pub mod quic;
pub mod rendezvous;
pub mod rpc;
pub mod schemas;
pub mod shm;
#[cfg(feature = "tls")]
pub mod tls;

pub use archive::Archive;
pub use frames::{frames, good_frames};

use bertha_chunnels::compress::frame;
use bertha_chunnels::noise::wire as noise_wire;
use bertha_chunnels::reliable::wire as reliable;
use bertha_chunnels::serialize::{Bincode, Postcard};
use bertha_chunnels::{ClientShard, Nothing, Serialize, ServerShard, ShardMap};
use bertha_core::{Addr, Buf, Describe, LayerInfo, Node, Picks, make_stack, resolve, select};
use bertha_negotiation::testing::GroupKey;
use bertha_negotiation::testing::HandshakeNonce;
use bertha_negotiation::testing::handshake::{
    Accepted, Admission, AdmissionControl, AmplificationLimit, Decision, EarlyData, Expected, FirstFlight,
    Flight, Handshake, HeldTicket, Progress, Requirements, Terms, Tickets, claim, decide, find,
};
use bertha_negotiation::testing::wire::{
    self, Answer, COOKIE, Close, Confirm, HEADER, Kind, Offer, OfferedNode, PeerProgress, PresentedTicket,
    Refusal, Retry, TICKET, Tag, Upgrade, envelop, offer_in,
};
use bertha_negotiation::{Credentials, IdentityKey, Settings, SharedKey};
use serde::Serialize as Encode;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The id of the connection that replies are about.
pub const ID: u64 = 0x0123_4567_89ab_cdef;

/// A target, by the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: &[Target] = &[
    ("attach", attach::messages),
    ("bundle", bundle::pieces),
    ("ccp", ccp::agent),
    ("codecs", codecs::messages),
    ("compressed", compressed),
    ("decide", decision),
    ("early", first_flight),
    ("frames", frames::frames),
    ("gate", gate),
    ("handshake", handshake),
    ("matching", matching),
    ("messages", layers::messages),
    ("noise", noise),
    ("packet", packet),
    ("proofs", proofs),
    #[cfg(feature = "quic")]
    ("quic", quic::stream),
    ("rendezvous", rendezvous::snapshots),
    ("rpc", rpc::messages),
    ("schemas", schemas::submission),
    ("shm", shm::ring),
    #[cfg(feature = "tls")]
    ("tls", tls::stream),
    ("wire", wire_format),
];

/// Checks the server's decision about an offer with this body, and about these bytes as they are.
pub fn decision(body: &[u8]) {
    for nodes in servers() {
        check_decision(body, &nodes);
        check_decision(&offer(body), &nodes);
    }
}

fn check_decision(message: &[u8], nodes: &[Node]) {
    let (credentials, fresh) = (Credentials::default(), HandshakeNonce::draw(|| 7));
    let terms = Terms { fresh: Some(&fresh), ..terms(&credentials, EarlyData::AtOnce) };
    match decide(message, nodes, &terms) {
        Decision::Ignore | Decision::Retry => {}
        Decision::Unknown { reply } => assert!(reply.len() <= message.len()),
        Decision::Refuse { reply, .. } => drop(wire::decode::<Refusal>(&reply).unwrap()),
        Decision::Accept(accepted) => {
            let Accepted { id, reply, answer, .. } = *accepted;
            assert_eq!(wire::decode::<Answer>(&reply).unwrap(), answer);
            assert_eq!(answer.id, id);
            assert_eq!(answer.server_picks.len(), nodes.iter().map(Node::selects).sum::<usize>());
        }
    }
}

/// Checks a server's handling of a first flight that is valid except for these bytes behind the offer; of a
/// first flight with this body; and of these bytes as they are. Checks a client's handling of an answer with
/// a valid beginning and these bytes behind it.
pub fn first_flight(bytes: &[u8]) {
    let nodes = choice();
    let picks = vec![0; nodes.iter().map(Node::selects).sum()];
    let claim = claim(&picks, &picks, 30_000, &[]);
    let offer = wire::encode(Kind::Offer, Tag::of(ID), &Offer::new(ID, &nodes).unwrap()).unwrap();
    let mut body = u16::try_from(offer.len()).unwrap().to_le_bytes().to_vec();
    body.extend(&offer);
    let now = Instant::now();
    let tickets = Tickets::new([7; 32], now);
    let presented = PresentedTicket { ticket: tickets.issue(now), age_ms: 0 };
    // With an even first byte, claim and ticket are valid.
    match bytes.split_first() {
        Some((first, rest)) if first % 2 == 0 => {
            body.extend([&claim[..], &presented.to_bytes(), rest].concat());
        }
        _ => body.extend(bytes),
    }
    for message in [
        seal(Kind::Early as u8, Tag::of(ID), &body),
        seal(Kind::Early as u8, Tag::of(ID), bytes),
        bytes.to_vec(),
    ] {
        check_decision(&message, &nodes);
        check_early(&message, &nodes, (&tickets, now));
    }
    check_answered(&nodes, &picks, bytes);
}

/// Checks that all messages are taken or none, that they come from the message, and that the answer says how
/// many.
fn check_early(message: &[u8], nodes: &[Node], (tickets, now): (&Tickets, Instant)) {
    let credentials = Credentials::default();
    let terms = Terms { tickets: Some(tickets), now, ..terms(&credentials, EarlyData::AtOnce) };
    if let Decision::Accept(accepted) = decide(message, nodes, &terms) {
        assert_eq!(usize::from(accepted.answer.early), accepted.early.len());
        let len: usize = accepted.early.iter().map(|it| wire::early_cost(it)).sum();
        assert!(len < message.len());
        let strict = Terms { early_data: EarlyData::Refused, ..terms };
        let Decision::Accept(refused) = decide(message, nodes, &strict) else { panic!() };
        assert!(refused.early.is_empty() && refused.answer.early == 0);
        assert_eq!(refused.answer.server_picks, accepted.answer.server_picks, "they decide nothing");
    }
}

fn terms(credentials: &Credentials, early_data: EarlyData) -> Terms<'_> {
    Terms {
        idle_timeout: Duration::from_secs(30),
        credentials,
        fresh: None,
        requirements: Requirements::OPEN,
        path: b"path",
        early_data,
        tickets: None,
        now: Instant::now(),
        amplification_limit: AmplificationLimit::UNLIMITED,
    }
}

/// Checks that a client that has sent three messages is left with the messages that were not taken, or with
/// none over another stack.
fn check_answered(nodes: &[Node], picks: &[u8], bytes: &[u8]) {
    let start = Instant::now();
    let handshake =
        Handshake::new(nodes, Requirements::OPEN, || ID, 65_507, start, &Settings::default()).unwrap();
    let expected = Expected {
        client_picks: picks.to_vec(),
        server_picks: picks.to_vec(),
        idle_ms: 30_000,
        capabilities: Vec::new(),
    };
    let ticket = HeldTicket { ticket: [9; TICKET], received: start };
    let mut flight = FirstFlight::new(handshake, expected, ticket, 65_507, 3, Duration::ZERO, start);
    assert!((0..3).all(|number| flight.push(&[number])) && !flight.push(b"one too many"));
    assert!(flight.poll_transmit(start).unwrap().is_some());
    let mut answer = Answer {
        id: ID,
        client_picks: picks.to_vec(),
        server_picks: picks.to_vec(),
        idle_ms: 30_000,
        confirm: None,
        early: 0,
        ticket: None,
        stack: String::new(),
        reasons: String::new(),
        capabilities: Vec::new(),
    };
    if let [early, pick, ..] = bytes {
        (answer.early, answer.server_picks[0]) = (u16::from(early % 8), pick % 2);
    }
    let message = wire::encode(Kind::Answer, Tag::of(ID), &answer).unwrap();
    let is_expected = answer.server_picks == picks;
    match flight.handle(&message).unwrap() {
        Flight::Confirmed { rest, .. } => {
            assert!(is_expected && rest.len() + usize::from(answer.early) == 3);
        }
        Flight::Replaced(..) => assert!(!is_expected && answer.early == 0),
        Flight::Ignored => assert!(answer.early > 3 || (!is_expected && answer.early > 0)),
        other => panic!("{other:?}"),
    }
    let sealed = bytes.split_first().map(|(&kind, body)| seal(kind, Tag::of(ID), body));
    for message in [Some(bytes.to_vec()), sealed].into_iter().flatten() {
        if let Err(error) = flight.handle(&message) {
            assert!(!error.to_string().is_empty());
        }
    }
}

/// Checks a waiting client's handling of a message of the kind in the first byte with the rest as its body,
/// and of these bytes as they are.
pub fn handshake(bytes: &[u8]) {
    let (start, nodes) = (Instant::now(), choice());
    let mut handshake =
        Handshake::new(&nodes, Requirements::OPEN, || ID, 65_507, start, &Settings::default()).unwrap();
    let sealed = bytes.split_first().map(|(&kind, body)| seal(kind, Tag::of(ID), body));
    for message in [Some(bytes.to_vec()), sealed].into_iter().flatten() {
        match handshake.handle(&message) {
            Ok(Progress::Agreed(answer, _)) => {
                assert_eq!(answer.id, ID);
                assert_eq!(answer.client_picks.len(), nodes.iter().map(Node::selects).sum::<usize>());
            }
            Ok(Progress::Again | Progress::Early | Progress::Ignored) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Checks the reply of a server that validates addresses to these bytes, to an offer with this body, and to
/// this offer with the first of these bytes as a cookie.
pub fn gate(bytes: &[u8]) {
    let (start, peer) = (Instant::now(), Addr::from(([10, 0, 0, 1], 5000)));
    let mut settings = Settings::default();
    settings.unvalidated_clients = 1;
    let mut gate = AdmissionControl::new(&settings, || 7, start);
    let mut messages = vec![bytes.to_vec(), offer(bytes)];
    if let Some((cookie, body)) = bytes.split_first_chunk::<COOKIE>() {
        messages.extend(envelop(cookie, &offer(body)));
    }
    for message in messages {
        match gate.admit(start, &peer, &message, false, 1) {
            Admission::Drop => {}
            // A client that can't be asked for a cookie is told why.
            Admission::Admit(limit) => assert_eq!(limit.left(), 3 * message.len()),
            Admission::Retry(reply) => {
                assert!(reply.len() <= 3 * message.len());
                let cookie = wire::decode::<Retry>(&reply).unwrap().cookie;
                let (offer, _) = offer_in(&message).unwrap();
                let returned = envelop(&cookie, offer).unwrap();
                let again = gate.admit(start, &peer, &returned, false, 1);
                assert_eq!(again, Admission::Admit(AmplificationLimit::UNLIMITED));
                let elsewhere = Addr::from(([10, 0, 0, 2], 5000));
                assert!(matches!(gate.admit(start, &elsewhere, &returned, false, 1), Admission::Retry(_)));
            }
        }
    }
}

/// Checks ends with keys against messages of the kind in the first byte with the rest as body and proof: no
/// message proves a false identity.
pub fn proofs(bytes: &[u8]) {
    let Some((&kind, body)) = bytes.split_first() else { return };
    let (shared, identity) = (SharedKey::new([1; 32]), IdentityKey::from_seed([2; 32]));
    let clients = [Credentials::shared(shared.clone()), Credentials::default().trusting([identity.public()])];
    let servers = [Credentials::shared(shared), Credentials::default().identity(identity)];
    let mut tags = vec![Tag::of(ID)];
    tags.extend(postcard::take_from_bytes(body).ok().map(|(id, _)| Tag::of(id)));
    for tag in tags {
        let message = seal_as(wire::VERSION | 0x80, kind, tag, body);
        for credentials in &servers {
            check_unproven(&message, credentials, credentials != &servers[0]);
        }
        for credentials in &clients {
            let mut settings = Settings::default();
            settings.credentials = credentials.clone();
            let mut handshake =
                Handshake::new(&choice(), Requirements::OPEN, || ID, 65_507, Instant::now(), &settings)
                    .unwrap();
            match handshake.handle(&message) {
                Ok(Progress::Ignored) => {}
                // The message is data, of any round.
                Ok(Progress::Early) => assert!(kind == Kind::Data as u8 || kind & 0x80 != 0),
                other => panic!("a client believed it: {other:?}"),
            }
        }
    }
}

/// Checks that only a server that doesn't authenticate clients accepts a client without a key, and that no
/// message confirms by chance.
fn check_unproven(message: &[u8], credentials: &Credentials, takes_anybody: bool) {
    let fresh = HandshakeNonce::draw(|| 7);
    let terms = Terms { fresh: Some(&fresh), ..terms(credentials, EarlyData::AtOnce) };
    match decide(message, &choice(), &terms) {
        Decision::Accept(accepted) => {
            assert!(takes_anybody && accepted.session.is_authenticated());
            assert!(!accepted.is_confirmed_by(message));
            let with_another_kind = [&[Kind::Confirm as u8], &message[1..]].concat();
            assert!(!accepted.is_confirmed_by(&with_another_kind));
        }
        Decision::Unknown { reply } => assert!(reply.len() <= message.len()),
        Decision::Ignore | Decision::Retry | Decision::Refuse { .. } => {}
    }
}

/// Searches for a common stack of an offer with this body and of several servers.
pub fn matching(body: &[u8]) {
    let Some(offered) = wire::decode::<Offer>(&offer(body)).ok().and_then(|offer| offer.nodes()) else {
        return;
    };
    for nodes in servers() {
        let bound = (size_of_offered(&offered) + 2) * (size_of(&nodes) + 2);
        match find(&offered, &nodes) {
            Ok(found) => {
                assert!(found.steps <= bound, "{} steps, at most {bound}", found.steps);
                let ours: Vec<_> = resolve(&nodes, Picks::new(&found.server_picks))
                    .iter()
                    .filter(|node| !matches!(node, Node::Layer(layer) if layer.is_one_sided()))
                    .map(ToString::to_string)
                    .collect();
                let mut theirs = Vec::new();
                pick(&offered, &mut found.client_picks.iter(), true, &mut theirs);
                assert_eq!(ours.len(), theirs.len(), "{ours:?} with {theirs:?}");
            }
            Err(rejected) => {
                assert!(rejected.steps <= bound, "{} steps, at most {bound}", rejected.steps);
                assert!(!rejected.reason.is_empty());
            }
        }
    }
}

/// Collects the layers of an offer that are left once its alternatives are picked.
fn pick(nodes: &[OfferedNode], picks: &mut std::slice::Iter<'_, u8>, is_used: bool, left: &mut Vec<String>) {
    for node in nodes {
        match node {
            OfferedNode::Layer(layer) if is_used && !layer.one_sided => left.push(layer.name.clone()),
            OfferedNode::Layer(_) => {}
            OfferedNode::Select { branches: [first, second], .. } => {
                let picked = *picks.next().unwrap();
                pick(first, picks, is_used && picked == 0, left);
                pick(second, picks, is_used && picked == 1, left);
            }
        }
    }
}

/// Checks that a compressed message with these bytes unpacks to a bounded size, and that the result survives
/// another round of compression.
pub fn compressed(bytes: &[u8]) {
    let bounds = frame::Bounds { min: 0, limit: 1 << 20 };
    let Ok(packed) = Buf::copy_of(bytes, 0) else { return };
    let Ok(message) = frame::unpack(packed, bounds) else { return };
    assert!(message.len() <= bytes.len().max(1 << 20) && message.len() <= bytes.len() * 255);
    let before = message.to_vec();
    let packed = frame::pack(message, bounds, 4).unwrap();
    assert!(packed.len() <= before.len() + 1);
    assert_eq!(*frame::unpack(packed, bounds).unwrap(), *before);
}

/// Checks a packet of the reliability Chunnel with these bytes, behind a check or without: its statements are
/// consistent.
pub fn packet(body: &[u8]) {
    check_packet(body, reliable::Check::Below);
    check_packet(&[&crc32fast::hash(body).to_le_bytes(), body].concat(), reliable::Check::Crc);
}

fn check_packet(packet: &[u8], check: reliable::Check) {
    let Some(header) = reliable::decode(packet, check) else { return };
    if let Some(ack) = header.ack {
        assert!((1..=reliable::RANGES).contains(&ack.ranges.iter().len()));
        let ranges: Vec<_> = ack.ranges.iter().collect();
        assert!(ranges.iter().all(|range| range.start() <= range.end()));
        assert!(ranges.windows(2).all(|two| *two[0].end() + 1 < *two[1].start()), "{ranges:?}");
        assert_eq!(ack.ranges.newest(), ranges.last().map(|range| *range.end()));
    }
    let Some(messages) = header.messages else { return };
    assert!(header.number.is_some());
    let (mut next, mut end) = (messages.first, messages.at);
    for message in messages.iter(packet) {
        assert_eq!(message.number, next);
        assert!(end < message.bytes.start && message.bytes.end <= packet.len());
        (next, end) = (next + 1, message.bytes.end);
    }
    assert_eq!(end, packet.len());
}

/// Checks how the encrypting Chunnel reads these bytes before it has a key for them: writing the result gives
/// equal bytes.
pub fn noise(bytes: &[u8]) {
    match noise_wire::decode(bytes) {
        Some(noise_wire::Arrived::Initiation(message)) => assert_eq!(noise_wire::initiation(message), bytes),
        Some(noise_wire::Arrived::Response(message)) => assert_eq!(noise_wire::response(message), bytes),
        Some(noise_wire::Arrived::Refusal(reason)) => assert_eq!(noise_wire::refusal(reason)[..], *bytes),
        Some(noise_wire::Arrived::Transport(header)) => {
            assert!(header.number < noise_wire::NUMBERS);
            assert_eq!(header.encode()[..], bytes[..noise_wire::HEADER]);
        }
        None => {}
    }
}

/// Checks every message with this body: a message that was read is read again from its written form.
pub fn wire_format(body: &[u8]) {
    read_twice::<Offer>(Kind::Offer, body);
    read_twice::<Answer>(Kind::Answer, body);
    read_twice::<Refusal>(Kind::Refusal, body);
    read_twice::<Close>(Kind::Close, body);
    read_twice::<Confirm>(Kind::Confirm, body);
    read_twice::<Retry>(Kind::Retry, body);
    read_twice::<Upgrade>(Kind::Upgrade, body);
    read_twice::<PeerProgress>(Kind::PeerProgress, body);
    let joined = [&Tag::of(ID).header(Kind::AnswerAndData), body].concat();
    if let Some((answer, data)) = wire::parts(&joined) {
        assert_eq!([answer, data].map(|it| wire::header(it).unwrap().1), [Tag::of(ID); 2]);
        assert!(wire::join(answer, data, usize::MAX).is_none_or(|again| again == joined));
    }
    if let Some(origin) = wire::origin(body) {
        assert_eq!(origin.to_bytes(), body[..wire::GROUP_HEADER - HEADER]);
    }
    if let Some(origin) = wire::proven_origin(body) {
        assert_eq!(origin.to_bytes(), body[..wire::PROVEN_GROUP_HEADER - HEADER]);
    }
    // Trying does not find a valid MAC.
    let proven = seal_as(wire::VERSION | 0x80, Kind::PeerProgress as u8, Tag::of(ID), body);
    assert_eq!(GroupKey::new(&SharedKey::new([9; 32])).decode_progress(&proven), None);
    if let Ok(offer) = wire::decode::<Offer>(&offer(body)) {
        let nodes = offer.nodes().unwrap_or_default();
        assert!(size_of_offered(&nodes) <= wire::NODES);
    }
}

fn read_twice<M: Encode + DeserializeOwned + PartialEq + Debug>(kind: Kind, body: &[u8]) {
    let Ok(message) = wire::decode::<M>(&seal(kind as u8, Tag::of(ID), body)) else { return };
    // A number may have been written in more bytes than it needs, never in fewer.
    let written = wire::encode(kind, Tag::of(ID), &message).unwrap();
    assert_eq!(wire::decode::<M>(&written).unwrap(), message);
}

/// Returns an offer with this body, and with the tag of the id in it.
fn offer(body: &[u8]) -> Vec<u8> {
    let message = seal(Kind::Offer as u8, Tag::of(ID), body);
    match wire::decode::<Offer>(&message) {
        Ok(offer) => seal(Kind::Offer as u8, Tag::of(offer.id), body),
        Err(_) => message,
    }
}

fn seal(kind: u8, tag: Tag, body: &[u8]) -> Vec<u8> {
    seal_as(wire::VERSION, kind, tag, body)
}

fn seal_as(version: u8, kind: u8, tag: Tag, body: &[u8]) -> Vec<u8> {
    let mut message = tag.header(Kind::Data).to_vec();
    message[0] = kind;
    message.push(version);
    message.extend(body);
    let check = crc32fast::hash(&message);
    message.extend(check.to_le_bytes());
    message
}

/// Returns the body of a whole handshake message, as a corpus holds it.
pub fn body_of(message: &[u8]) -> &[u8] {
    &message[HEADER + 1..message.len() - 4]
}

/// Returns choices beside each other and within each other, with capabilities.
fn choice() -> Vec<Node> {
    let map = ShardMap::new([([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 1).into()]).unwrap();
    let shard = select!(ClientShard::new(map.clone()), ServerShard::new(map), Nothing);
    make_stack!(shard, select!(Serialize::<String, Bincode>::new(), Serialize::<String, Postcard>::new()))
        .nodes()
}

/// Returns a client's stack that matches [`servers`] in very many ways, and in each of them up to its last
/// layer.
pub fn hopeless() -> Vec<Node> {
    let one = || make_stack!(select!(Serialize::<u8>::new(), make_stack!())).nodes();
    let mut nodes: Vec<Node> = (0..8).flat_map(|_| one()).collect();
    nodes.push(Node::Layer(LayerInfo::plain("hostile::Last", 1)));
    nodes
}

/// Returns the stacks of servers that are attacked.
pub fn servers() -> Vec<Vec<Node>> {
    let repeated = make_stack!(
        select!(Serialize::<u8>::new(), make_stack!()),
        select!(Serialize::<u8>::new(), make_stack!()),
        select!(Serialize::<u8>::new(), make_stack!()),
        Nothing,
        select!(make_stack!(), Serialize::<u8>::new()),
    );
    vec![Vec::new(), make_stack!(Nothing, Serialize::<u8>::new()).nodes(), choice(), repeated.nodes()]
}

fn size_of(nodes: &[Node]) -> usize {
    let size = |node: &Node| match node {
        Node::Layer(_) => 1,
        Node::Select { branches: [first, second], .. } => 1 + size_of(first) + size_of(second),
    };
    nodes.iter().map(size).sum()
}

fn size_of_offered(nodes: &[OfferedNode]) -> usize {
    let size = |node: &OfferedNode| match node {
        OfferedNode::Layer(_) => 1,
        OfferedNode::Select { branches: [first, second], .. } => {
            1 + size_of_offered(first) + size_of_offered(second)
        }
    };
    nodes.iter().map(size).sum()
}
