//! What a hostile peer reaches, as functions of arbitrary bytes that must hold for all of them.
//!
//! The fuzzers in `tests/fuzz` call them, and `tests/fuzz_corpus.rs` does so with all inputs that fuzzers found worth
//! keeping. The bytes are the body of a message: check and tag are put right, since no fuzzer guesses them.

use bertha_chunnels::reliable::wire as reliable;
use bertha_chunnels::serialize::{Bincode, Postcard};
use bertha_chunnels::{ClientShard, Nothing, Serialize, ServerShard, ShardMap};
use bertha_core::{Describe, Layer, Node, Picks, make_stack, resolve, select};
use bertha_negotiation::Settings;
use bertha_negotiation::proto::{Decision, Handshake, Progress, Terms, decide, find};
use bertha_negotiation::wire::{
    self, Answer, Close, Confirm, HEADER, Kind, Offer, OfferedNode, Refusal, Tag,
};
use serde::Serialize as Encode;
use serde::de::DeserializeOwned;
use std::fmt::Debug;
use std::time::{Duration, Instant};

/// The id of the connection that replies are about.
pub const ID: u64 = 0x0123_4567_89ab_cdef;

/// A target, by the name of its corpus.
pub type Target = (&'static str, fn(&[u8]));

/// All of them.
pub const TARGETS: [Target; 5] = [
    ("decide", decision),
    ("handshake", handshake),
    ("matching", matching),
    ("packet", packet),
    ("wire", wire_format),
];

/// The server's decision about an offer with this body, and about these bytes as they are.
pub fn decision(body: &[u8]) {
    for nodes in servers() {
        check_decision(body, &nodes);
        check_decision(&offer(body), &nodes);
    }
}

fn check_decision(message: &[u8], nodes: &[Node]) {
    let terms = Terms { idle_timeout: Duration::from_secs(30), confirm: Some(7) };
    match decide(message, nodes, &terms) {
        Decision::Ignore => {}
        Decision::Unknown { reply } => assert!(reply.len() <= message.len()),
        Decision::Refuse { reply, .. } => drop(wire::decode::<Refusal>(&reply).unwrap()),
        Decision::Accept { id, reply, answer } => {
            assert_eq!(wire::decode::<Answer>(&reply).unwrap(), answer);
            assert_eq!(answer.id, id);
            assert_eq!(answer.server_picks.len(), nodes.iter().map(Node::selects).sum());
        }
    }
}

/// A waiting client's handling of a message of the kind in the first byte with the rest as its body, and of these
/// bytes as they are.
pub fn handshake(bytes: &[u8]) {
    let (start, nodes) = (Instant::now(), choice());
    let mut handshake = Handshake::new(&nodes, ID, 65_507, start, &Settings::default()).unwrap();
    let sealed = bytes.split_first().map(|(&kind, body)| seal(kind, Tag::of(ID), body));
    for message in [Some(bytes.to_vec()), sealed].into_iter().flatten() {
        match handshake.handle(&message) {
            Ok(Progress::Agreed(answer)) => {
                assert_eq!(answer.id, ID);
                assert_eq!(answer.client_picks.len(), nodes.iter().map(Node::selects).sum());
            }
            Ok(Progress::Early | Progress::Ignored) => {}
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// The search for a common stack of an offer with this body and of several servers.
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

/// The layers of an offer that are left once its alternatives are picked.
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

/// A packet of the reliability Chunnel with these bytes behind its check: what it says holds together.
pub fn packet(body: &[u8]) {
    let packet = [&crc32fast::hash(body).to_le_bytes(), body].concat();
    let Some(header) = reliable::decode(&packet) else { return };
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
    for message in messages.iter(&packet) {
        assert_eq!(message.number, next);
        assert!(end < message.bytes.start && message.bytes.end <= packet.len());
        (next, end) = (next + 1, message.bytes.end);
    }
    assert_eq!(end, packet.len());
}

/// Every message with this body: what is read, is read again from what it is written as.
pub fn wire_format(body: &[u8]) {
    read_twice::<Offer>(Kind::Offer, body);
    read_twice::<Answer>(Kind::Answer, body);
    read_twice::<Refusal>(Kind::Refusal, body);
    read_twice::<Close>(Kind::Close, body);
    read_twice::<Confirm>(Kind::Confirm, body);
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

/// An offer with this body, and with the tag of the id in it.
fn offer(body: &[u8]) -> Vec<u8> {
    let message = seal(Kind::Offer as u8, Tag::of(ID), body);
    match wire::decode::<Offer>(&message) {
        Ok(offer) => seal(Kind::Offer as u8, Tag::of(offer.id), body),
        Err(_) => message,
    }
}

fn seal(kind: u8, tag: Tag, body: &[u8]) -> Vec<u8> {
    let mut message = tag.header(Kind::Data).to_vec();
    message[0] = kind;
    message.push(wire::VERSION);
    message.extend(body);
    let check = crc32fast::hash(&message);
    message.extend(check.to_le_bytes());
    message
}

/// The body of a whole handshake message, as a corpus holds it.
pub fn body_of(message: &[u8]) -> &[u8] {
    &message[HEADER + 1..message.len() - 4]
}

/// Choices next to each other and in each other, with capabilities.
fn choice() -> Vec<Node> {
    let map = ShardMap::new([([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 1).into()]).unwrap();
    let shard = select!(ClientShard::new(map.clone()), ServerShard::new(map), Nothing);
    make_stack!(shard, select!(Serialize::<String, Bincode>::new(), Serialize::<String, Postcard>::new()))
        .nodes()
}

/// A client's stack that goes together with [`servers`] in very many ways, and in each of them up to its last layer.
pub fn hopeless() -> Vec<Node> {
    let one = || make_stack!(select!(Serialize::<u8>::new(), make_stack!())).nodes();
    let mut nodes: Vec<Node> = (0..8).flat_map(|_| one()).collect();
    nodes.push(Node::Layer(Layer::plain("hostile::Last", 1)));
    nodes
}

/// The stacks of servers that are attacked.
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
