//! Everything that the fuzzers of `fuzz/` found worth keeping, once more.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_negotiation::handshake::{Credit, Decision, EarlyData, Handshake, Requirements, Terms, decide};
use bertha_negotiation::wire::{
    self, Answer, Before, COOKIE, Kind, Offer, PeerProgress, Refusal, RefusalKind, Tag,
};
use bertha_negotiation::{Credentials, Fresh, IdentityKey, Settings, SharedKey};
use bertha_rendezvous::member::Description;
use bertha_rendezvous::member::record::{Presence, Proposal, Record, Refusal as Refused};
use bertha_tests::fuzz_targets::{ID, TARGETS, body_of, good_frames, hopeless, servers};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

#[test]
fn every_input_holds() {
    for &(name, target) in TARGETS {
        let mut inputs: Vec<_> =
            fs::read_dir(corpus(name)).unwrap().map(|entry| entry.unwrap().path()).collect();
        inputs.sort();
        assert!(!inputs.is_empty(), "no corpus of {name}");
        for input in inputs {
            println!("{}", input.display());
            target(&fs::read(&input).unwrap());
        }
    }
}

#[test]
fn short_and_repetitive_inputs_hold() {
    for &(_, target) in TARGETS {
        for byte in 0..=255 {
            for len in [0, 1, 2, 3, 4, 5, 9, 600, 9000] {
                target(&vec![byte; len]);
            }
        }
    }
}

/// Packets of the reliability Chunnel behind their check: messages; an acknowledgement with a gap and a grant; an end; a
/// refusal; an empty one; all at once; the largest numbers; and some that are not to be.
const PACKETS: [&[u8]; 9] = [
    &[0x21, 5, 7, 3, b'a', b'b', b'c', 0, 1, b'd'],
    &[0x06, 40, 1, 9, 2, 1, 3, 0x40, 0x80, 0x80, 2, 0, 0],
    &[0x09, 1, 44],
    &[0x10, 3],
    &[0x00],
    &[0x3f, 1, 0, 0, 5, 5, 9, 9, 9, 2, 0, 1, b'x'],
    &[
        0x21, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
        1, 1,
    ],
    &[0x20, 0, 0],
    &[0x02, 0, 31, 60],
];

#[test]
fn some_of_the_packets_are_packets() {
    let decodes = |body: &&[u8]| {
        let packet = [&crc32fast::hash(body).to_le_bytes(), *body].concat();
        bertha_chunnels::reliable::wire::decode(&packet).is_some()
    };
    assert!(PACKETS[..7].iter().all(decodes));
    assert!(!PACKETS[7..].iter().any(decodes));
}

/// Messages as the compression Chunnel sends them: compressed, stored, and bombs.
fn compressed() -> Vec<(&'static str, Vec<u8>)> {
    use bertha_chunnels::compress::frame::{Bounds, pack};
    let packed = |bytes: &[u8]| {
        let message = bertha_core::Buf::copy_of(bytes, 8).unwrap();
        pack(message, Bounds { min: 16, limit: 1 << 20 }, 8).unwrap().to_vec()
    };
    let mut longer = packed(&[7; 5_000]);
    longer[1..5].copy_from_slice(&5_001_u32.to_le_bytes());
    vec![
        ("text", packed(&b"to be or not to be, that is the question; ".repeat(4))),
        ("run", packed(&[0; 70_000])),
        ("stored", packed(b"short")),
        ("empty", packed(b"")),
        ("bomb", [&[1][..], &u32::MAX.to_le_bytes(), &[0xff; 40]].concat()),
        ("longer-than-it-is", longer),
    ]
}

#[test]
fn some_of_the_compressed_messages_are_messages() {
    use bertha_chunnels::compress::frame::{Bounds, Refused, unpack};
    let outcomes: Vec<Option<Refused>> = compressed()
        .into_iter()
        .map(|(_, bytes)| {
            let message = bertha_core::Buf::copy_of(&bytes, 0).unwrap();
            unpack(message, Bounds { min: 0, limit: 1 << 20 }).err()
        })
        .collect();
    assert_eq!(outcomes[..4], [None; 4]);
    assert_eq!(outcomes[4..], [Some(Refused::Bomb), Some(Refused::Malformed)]);
}

/// Messages as Chunnels take them, each behind its length: pieces that make a message, that contradict each other, that claim much;
/// a probe and word of one; numbers in order and out of it; a batch; and what is too short.
fn fragments() -> Vec<(&'static str, Vec<u8>)> {
    let framed = |messages: &[&[u8]]| {
        messages.iter().flat_map(|it| [&[it.len() as u8], *it].concat()).collect::<Vec<u8>>()
    };
    let piece = |number: u8, length: u32, place: u32, size: u16, fill: u8, len: usize| {
        let header =
            [&[1, number, 0, 0, 0][..], &length.to_le_bytes(), &place.to_le_bytes(), &size.to_le_bytes()];
        [header.concat(), vec![fill; len]].concat()
    };
    let (first, last) = (piece(9, 150, 0, 100, 1, 100), piece(9, 150, 1, 100, 2, 50));
    let other = piece(9, 150, 0, 100, 3, 100);
    vec![
        ("pieces", framed(&[&last, &first, &first])),
        ("contradiction", framed(&[&first, &other])),
        ("too-much", framed(&[&piece(1, u32::MAX, 0, 65_535, 0, 100)])),
        ("no-place", framed(&[&piece(1, 150, 2, 100, 0, 0), &piece(1, 0, 0, 0, 0, 0)])),
        ("probe", framed(&[&[2, 7, 0, 0, 0, 0, 0], &[3, 7, 0, 0, 0], &[2, 7]])),
        ("numbers", framed(&[&[1, 0, 0, 0, 0, 0, 0, 0, 5], &[0; 9], &[0; 9], &[255; 9]])),
        ("voids", framed(&[&[0, 0, 0, 0, 0, 128, 0, 0], &[1, 0, 0, 0, 0, 0, 0, 0]])),
        ("batch", framed(&[&[3, b'a', b'b', b'c', 0, 1, b'd'], &[200], &[255, 255, 255]])),
        ("short", framed(&[&[], &[0], &[1], &[2], &[3]])),
    ]
}

/// The first inputs of each corpus, from which fuzzers start: run it after a change of the format.
#[test]
#[ignore = "writes the corpus"]
fn sow() {
    let stacks = servers().into_iter().chain([hopeless()]);
    let offers: Vec<_> = stacks.map(|nodes| Offer::new(ID, &nodes).unwrap()).collect();
    let bodies = offers.iter().map(|offer| wire::encode(Kind::Offer, Tag::of(ID), offer).unwrap());
    let bodies: Vec<Vec<u8>> = bodies.map(|message| body_of(&message).to_vec()).collect();
    let answer = Answer {
        id: ID,
        client_picks: vec![0; 3],
        server_picks: vec![1; 3],
        idle_ms: 30_000,
        confirm: Some(7),
        early: 0,
        stack: "Serialize".into(),
        reasons: "client's a and server's b".into(),
    };
    let refusal =
        Refusal { id: ID, kind: RefusalKind::Incompatible, text: "no stack suits both ends".into() };
    let too_few = Answer { client_picks: vec![0], ..answer.clone() };
    let replies = [
        ("Answer", Kind::Answer, wire::encode(Kind::Answer, Tag::of(ID), &answer).unwrap()),
        ("Answer-too-few", Kind::Answer, wire::encode(Kind::Answer, Tag::of(ID), &too_few).unwrap()),
        ("Refusal", Kind::Refusal, wire::encode(Kind::Refusal, Tag::of(ID), &refusal).unwrap()),
    ];
    for &(name, _) in TARGETS {
        fs::create_dir_all(corpus(name)).unwrap();
        if name == "proofs" {
            for (what, message) in proven() {
                let input = [&message[..1], body_of(&message)].concat();
                fs::write(corpus(name).join(format!("sown-{what}")), input).unwrap();
            }
            continue;
        }
        if name == "handshake" {
            for (reply, kind, message) in &replies {
                let input = [&[*kind as u8], body_of(message)].concat();
                fs::write(corpus(name).join(format!("sown-{reply}")), input).unwrap();
            }
            continue;
        }
        if name == "rendezvous" {
            for (record, bytes) in records() {
                fs::write(corpus(name).join(format!("sown-{record}")), bytes).unwrap();
            }
            continue;
        }
        if name == "messages" {
            for (what, messages) in fragments() {
                fs::write(corpus(name).join(format!("sown-{what}")), messages).unwrap();
            }
            continue;
        }
        if name == "frames" {
            for (number, frame) in good_frames().into_iter().enumerate() {
                fs::write(corpus(name).join(format!("sown-{number}")), frame).unwrap();
            }
            continue;
        }
        if name == "compressed" {
            for (what, message) in compressed() {
                fs::write(corpus(name).join(format!("sown-{what}")), message).unwrap();
            }
            continue;
        }
        if name == "quic" {
            for (what, input) in streams() {
                fs::write(corpus(name).join(format!("sown-{what}")), input).unwrap();
            }
            continue;
        }
        if name == "sealed" {
            for (what, input) in greetings() {
                fs::write(corpus(name).join(format!("sown-{what}")), input).unwrap();
            }
            continue;
        }
        if name == "packet" {
            for (number, body) in PACKETS.iter().enumerate() {
                fs::write(corpus(name).join(format!("sown-{number}")), body).unwrap();
            }
            continue;
        }
        if name == "early" {
            for (what, input) in [
                ("two-messages", &b"\x00\x05\x00hello\x00\x00"[..]),
                ("cut", b"\x00\x05\x00hell"),
                ("wrong-claim", b"\x01123456789012345\x01\x00x"),
                ("taken", b"\x02\x00"),
                ("other-stack", b"\x00\x01"),
                ("taken-of-other-stack", b"\x02\x01"),
            ] {
                fs::write(corpus(name).join(format!("sown-{what}")), input).unwrap();
            }
            continue;
        }
        for (number, body) in bodies.iter().enumerate() {
            fs::write(corpus(name).join(format!("sown-offer-{number}")), body).unwrap();
        }
        if name == "gate" {
            let cookie_and_body = [&[7; COOKIE], &bodies[1][..]].concat();
            fs::write(corpus(name).join("sown-returned"), cookie_and_body).unwrap();
        }
        if name == "wire" {
            for (what, standing) in standings() {
                let message = wire::encode(Kind::PeerProgress, Tag::of(ID), &standing).unwrap();
                fs::write(corpus(name).join(format!("sown-{what}")), body_of(&message)).unwrap();
            }
            let data = [&Tag::of(ID).header(Kind::Data)[..], b"data"].concat();
            let joined = wire::join(&replies[0].2, &data, wire::LARGEST_JOINED).unwrap();
            fs::write(corpus(name).join("sown-AnswerAndData"), &joined[wire::HEADER..]).unwrap();
        }
        for (reply, _, message) in replies.iter().filter(|_| name == "wire") {
            fs::write(corpus(name).join(format!("sown-{reply}")), body_of(message)).unwrap();
        }
    }
}

/// Streams of the QUIC Chunnel, behind the length of their pieces.
fn streams() -> Vec<(&'static str, Vec<u8>)> {
    let framed = |message: &[u8]| [&(message.len() as u32).to_be_bytes()[..], message].concat();
    let two = [framed(b"hello"), framed(b""), framed(&[7; 300])].concat();
    vec![
        ("messages", [&[255][..], &two].concat()),
        ("byte-by-byte", [&[0][..], &two].concat()),
        ("cut-in-a-message", [&[6][..], &two[..40]].concat()),
        ("cut-in-a-length", [&[2][..], &two[..11]].concat()),
        ("largest", [&[255][..], &framed(&[1; 64 * 1024])].concat()),
        ("too-large", [&[3][..], &framed(b"a"), &[0, 1, 0, 1, 0]].concat()),
        ("much-too-large", vec![0, 255, 255, 255, 255, 1]),
    ]
}

/// What the encrypting Chunnel takes, and what it nearly takes.
fn greetings() -> Vec<(&'static str, Vec<u8>)> {
    use bertha_chunnels::seal::wire::{Hello, PROOF, SALT, associated};
    let greeting = |asks| Hello { salt: [3; SALT], asks, proof: [5; PROOF] }.encode().to_vec();
    vec![
        ("greeting", greeting(true)),
        ("answer", greeting(false)),
        ("cut-greeting", greeting(true)[1..].to_vec()),
        ("longer-greeting", [greeting(true), vec![0]].concat()),
        ("message", [&associated(7)[..], &[9; 16], b"sealed"].concat()),
    ]
}

/// What participants say to each other.
fn standings() -> [(&'static str, PeerProgress); 2] {
    let before = Before { life: 9, round: 3, sent: Some(u32::MAX) };
    let moved = PeerProgress { sender: u64::MAX, life: 9, round: 4, before: Some(before), asks: false };
    [("Standing-asks", PeerProgress { before: None, asks: true, ..moved.clone() }), ("Standing-moved", moved)]
}

/// Records, and what a participant writes of itself, without the version of their format.
fn records() -> Vec<(&'static str, Vec<u8>)> {
    let mut records = Vec::new();
    for nodes in servers() {
        let choices = nodes.iter().map(bertha_core::Node::selects).sum();
        let stack = Description::of(&nodes, &vec![0; choices]).unwrap();
        let other = Description::of(&nodes, &vec![1; choices]).unwrap();
        let refusal = Refused { round: 2, by: Some(7), reason: "no stack suits".into() };
        let (life, round, leader) = (1, 1, 7);
        let quiet = Record { life, round, stack, leader, last: 2, proposal: None, refusal: Some(refusal) };
        let proposal = Some(Proposal { round: 3, proposer: 7, stack: other });
        let busy = Record { last: 3, proposal, ..quiet.clone() };
        records = vec![
            ("record", postcard::to_allocvec(&quiet).unwrap()),
            ("upgrade", postcard::to_allocvec(&busy).unwrap()),
        ];
    }
    let presence = Presence { in_force: 1, accepted: 2, check: 3 };
    records.push(("presence", postcard::to_allocvec(&presence).unwrap()));
    records
}

/// Messages with proofs of other keys than those of the target, and so in all other respects right.
fn proven() -> Vec<(String, Vec<u8>)> {
    let keys = [11, 12].map(|seed| IdentityKey::from_seed([seed; 32]));
    let trusting = || Credentials::default().trusting([keys[1].public()]);
    let ways = [
        (
            "shared",
            Credentials::shared(SharedKey::new([9; 32])),
            Credentials::shared(SharedKey::new([9; 32])),
        ),
        ("pinned", trusting(), Credentials::default().identity(keys[1].clone())),
        (
            "mutual",
            trusting().identity(keys[0].clone()),
            Credentials::default().identity(keys[1].clone()).trusting([keys[0].public()]),
        ),
    ];
    let mut messages = Vec::new();
    for (way, at_client, at_server) in ways {
        let (mut settings, now, fresh) = (Settings::default(), Instant::now(), Fresh::draw(|| 3));
        settings.credentials = at_client;
        for (nodes, reply_is) in [(&servers()[2], "answer"), (&hopeless(), "refusal")] {
            let mut handshake =
                Handshake::new(nodes, Requirements::OPEN, || ID, 65_507, now, &settings).unwrap();
            let offer = handshake.poll_transmit(now).unwrap().unwrap().to_vec();
            let terms = Terms {
                idle_timeout: Duration::from_secs(30),
                credentials: &at_server,
                fresh: Some(&fresh),
                requirements: Requirements::OPEN,
                peer: b"peer",
                early_data: EarlyData::AtOnce,
                credit: Credit::UNLIMITED,
            };
            let reply = match decide(&offer, &servers()[2], &terms) {
                Decision::Accept(accepted) => accepted.reply,
                Decision::Refuse { reply, .. } => reply,
                other => panic!("{other:?}"),
            };
            messages.push((format!("{way}-offer-for-{reply_is}"), offer));
            messages.push((format!("{way}-{reply_is}"), reply));
        }
    }
    messages
}
