//! Everything that the fuzzers of `fuzz/` found worth keeping, once more.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests panic to fail")]

use bertha_negotiation::wire::{self, Answer, Kind, Offer, Refusal, RefusalKind, Tag};
use bertha_tests::fuzz_targets::{ID, TARGETS, body_of, hopeless, servers};
use std::fs;
use std::path::{Path, PathBuf};

fn corpus(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target)
}

#[test]
fn every_input_holds() {
    for (name, target) in TARGETS {
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
    for (_, target) in TARGETS {
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
    for (name, _) in TARGETS {
        fs::create_dir_all(corpus(name)).unwrap();
        if name == "handshake" {
            for (reply, kind, message) in &replies {
                let input = [&[*kind as u8], body_of(message)].concat();
                fs::write(corpus(name).join(format!("sown-{reply}")), input).unwrap();
            }
            continue;
        }
        if name == "packet" {
            for (number, body) in PACKETS.iter().enumerate() {
                fs::write(corpus(name).join(format!("sown-{number}")), body).unwrap();
            }
            continue;
        }
        for (number, body) in bodies.iter().enumerate() {
            fs::write(corpus(name).join(format!("sown-offer-{number}")), body).unwrap();
        }
        for (reply, _, message) in replies.iter().filter(|_| name == "wire") {
            fs::write(corpus(name).join(format!("sown-{reply}")), body_of(message)).unwrap();
        }
    }
}
