//! The flood at the server's decision function itself; a stranger's first message reaches no other code.

use crate::flood::meter::Meter;
use crate::flood::mutator::Mutator;
use crate::flood::scene::stack;
use bertha_core::{Describe, Node};
use bertha_negotiation::Credentials;
use bertha_negotiation::testing::HandshakeNonce;
use bertha_negotiation::testing::handshake::{
    Accepted, AmplificationLimit, Decision, EarlyData, Requirements, Terms, Tickets, decide,
};
use bertha_negotiation::testing::wire::{
    self, Answer, Close, Confirm, HEADER, Kind, Offer, Refusal, RefusalKind, Tag,
};
use std::time::{Duration, Instant};

const MESSAGES: usize = 200_000;
const ID: u64 = 0x0123_4567_89ab_cdef;

/// Makes a message of each kind, as it travels.
fn messages(nodes: &[Node]) -> Vec<Vec<u8>> {
    let tag = Tag::of(ID);
    let picks = vec![0, 1, 0];
    let (stack, text) = (String::from("Nothing / Serialize"), String::from("no stack suits both ends"));
    let answer = Answer {
        id: ID,
        client_picks: picks.clone(),
        server_picks: picks,
        idle_ms: 30_000,
        confirm: Some(7),
        early: 0,
        ticket: None,
        stack,
        reasons: String::new(),
        capabilities: Vec::new(),
    };
    let mut messages = vec![
        wire::encode(Kind::Offer, tag, &Offer::new(ID, nodes).unwrap()).unwrap(),
        wire::encode(Kind::Offer, tag, &Offer::new(ID, &nodes[..1]).unwrap()).unwrap(),
        wire::encode(Kind::Answer, tag, &answer).unwrap(),
        wire::encode(Kind::Refusal, tag, &Refusal { id: ID, kind: RefusalKind::Incompatible, text }).unwrap(),
        wire::encode(Kind::Confirm, tag, &Confirm { id: ID, number: 7 }).unwrap(),
        wire::encode(Kind::Close, tag, &Close { id: ID, failure: String::new() }).unwrap(),
    ];
    messages.extend(
        [Kind::Data, Kind::KeepAlive, Kind::CloseSeen, Kind::Reset].map(|kind| tag.header(kind).into()),
    );
    messages.extend(
        [Kind::KeepAlive, Kind::CloseSeen, Kind::Reset].map(|kind| wire::encode(kind, tag, &()).unwrap()),
    );
    messages
}

#[test]
fn every_message_is_decided_and_nothing_is_kept() {
    let meter = Meter::alone();
    let nodes = stack().nodes();
    let mut mutator = Mutator::new(messages(&nodes), 2);
    let (credentials, fresh) = (Credentials::default(), HandshakeNonce::draw(|| 7));
    let now = Instant::now();
    let tickets = Tickets::new([7; 32], now);
    let before = meter.live();
    let (mut ignored, mut unknown, mut refused, mut accepted) = (0, 0, 0, 0);
    for number in 0..MESSAGES {
        let message = mutator.datagram();
        let terms = Terms {
            idle_timeout: Duration::from_secs(30),
            credentials: &credentials,
            fresh: Some(&fresh).filter(|_| number % 2 == 0),
            requirements: Requirements::OPEN,
            path: b"path",
            early_data: EarlyData::AtOnce,
            tickets: Some(&tickets),
            now,
            amplification_limit: AmplificationLimit::UNLIMITED,
        };
        match decide(&message, &nodes, &terms) {
            Decision::Ignore | Decision::Retry => ignored += 1,
            Decision::Unknown { reply } => {
                // The reply consists of header, version and check.
                assert_eq!(reply.len(), HEADER + 5);
                assert!(reply.len() <= message.len(), "no more than was sent");
                unknown += 1;
            }
            Decision::Refuse { reply, .. } => {
                assert!(wire::decode::<Refusal>(&reply).is_ok());
                refused += 1;
            }
            Decision::Accept(agreed) => {
                let Accepted { id, reply, .. } = *agreed;
                assert_eq!(wire::decode::<Answer>(&reply).unwrap().id, id);
                accepted += 1;
            }
        }
    }
    assert_eq!(meter.live(), before, "nothing is kept");
    for count in [ignored, unknown, refused, accepted] {
        assert!(
            count > MESSAGES / 1000,
            "{ignored} ignored, {unknown} unknown, {refused} refused, {accepted} accepted"
        );
    }
}
