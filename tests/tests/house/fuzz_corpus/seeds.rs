//! The inputs from which fuzzers start: messages as peers send them, and some messages that are nearly right.

use bertha_ccp::message::{
    Change, Clause, Field, Install, Instruction, Message, Operation, Register, Update,
};
use bertha_chunnels::rpc::{self, Method, Postcard};
use bertha_managed::attach::{Answer as Attached, Hello, Role};
use bertha_managed::{Descriptor, Done, InHeap};
use bertha_negotiation::rendezvous::member::Description;
use bertha_negotiation::rendezvous::member::record::{Presence, Proposal, Record, Refusal as Refused};
use bertha_negotiation::testing::HandshakeNonce;
use bertha_negotiation::testing::handshake::{
    AmplificationLimit, Decision, EarlyData, Handshake, Requirements, Terms, decide,
};
use bertha_negotiation::testing::wire::{
    self, Answer, Before, COOKIE, Kind, Offer, PeerProgress, Refusal, RefusalKind, Tag,
};
use bertha_negotiation::{Credentials, IdentityKey, Settings, SharedKey};
use bertha_tests::fuzz_targets::attach::good_hello;
use bertha_tests::fuzz_targets::bundle::good_packets;
use bertha_tests::fuzz_targets::codecs::good_messages;
use bertha_tests::fuzz_targets::rpc::{COUNT, NEXT, SUM};
use bertha_tests::fuzz_targets::schemas::{good_schema, good_submission};
use bertha_tests::fuzz_targets::shm::ring_seeds;
use bertha_tests::fuzz_targets::{ID, body_of, good_frames, hopeless, servers};
use std::time::{Duration, Instant};

/// That of the calls.
const CODEC: Postcard = Postcard;

/// An input, and its name within the corpus.
type Seed = (String, Vec<u8>);

/// Returns the seeds of a target.
pub(crate) fn of(target: &str) -> Vec<Seed> {
    match target {
        "attach" => named(attaching()),
        "bundle" => numbered([good_packets()]),
        "ccp" => named(agent()),
        "codecs" => numbered(good_messages()),
        "compressed" => named(compressed()),
        "decide" | "matching" => offers(),
        "early" => named(first_flights()),
        "frames" => numbered(good_frames()),
        "gate" => {
            let returned = [&[7; COOKIE], &offers()[1].1[..]].concat();
            [offers(), vec![("returned".into(), returned)]].concat()
        }
        "handshake" => replies().map(|reply| (reply.name.into(), reply.behind_its_kind())).into(),
        "messages" => named(layered()),
        "packet" => numbered(PACKETS),
        "proofs" => {
            let behind_its_kind = |message: Vec<u8>| [&message[..1], body_of(&message)].concat();
            proven().into_iter().map(|(name, message)| (name, behind_its_kind(message))).collect()
        }
        "quic" => named(streams(64 * 1024)),
        "rendezvous" => named(records()),
        "rpc" => named(calls()),
        "noise" => named(noise()),
        "schemas" => numbered([good_submission()]),
        "shm" => numbered(ring_seeds()),
        "tls" => named(streams(1024 * 1024)),
        "wire" => [offers(), wire_bodies()].concat(),
        other => panic!("no seeds of {other}"),
    }
}

fn named(seeds: Vec<(&str, Vec<u8>)>) -> Vec<Seed> {
    seeds.into_iter().map(|(name, bytes)| (name.into(), bytes)).collect()
}

fn numbered<B: AsRef<[u8]>>(seeds: impl IntoIterator<Item = B>) -> Vec<Seed> {
    let seeds = seeds.into_iter().enumerate();
    seeds.map(|(number, bytes)| (number.to_string(), bytes.as_ref().to_vec())).collect()
}

/// Makes hellos of applications, answers of the daemon and descriptors, and some that are nearly such.
fn attaching() -> Vec<(&'static str, Vec<u8>)> {
    let (caller, server) = (good_hello(Role::Caller, &good_schema()), good_hello(Role::Server, b"?"));
    let with = |at: usize, byte: u8| {
        let mut hello = server.clone();
        hello[at] = byte;
        hello
    };
    let message = InHeap { at: 1 << 40, bytes: 40, number: 7 };
    let request = Descriptor::Request { call: 9, method: 1, message, milliseconds: 500, trace: None };
    let kind = bertha_chunnels::rpc::FailureKind::Denied;
    let failure = Descriptor::Failure { call: 9, kind, may_have_run: true, reason: message };
    let mut done = Done::default();
    assert!([1, 2, 3].into_iter().all(|number| done.push(number)));
    vec![
        ("cut", server[..server.len() - 4].to_vec()),
        ("other-version", with(7, 2)),
        ("no-role", with(12, 3)),
        ("long-name", with(14, 255)),
        ("no-name", with(15, 0)),
        ("control-character", with(Hello::HEADER, b'\n')),
        ("no-text", with(Hello::HEADER, 0xff)),
        ("used-zero", with(13, 1)),
        ("caller", caller),
        ("server", server),
        ("granted", Attached::Granted { bytes: 1 << 20 }.to_bytes().to_vec()),
        ("refused", Attached::Refused { text: 7 }.to_bytes().to_vec()),
        ("no-answer", vec![6; Attached::SIZE]),
        ("request", request.to_bytes().to_vec()),
        ("failure", failure.to_bytes().to_vec()),
        ("done", Descriptor::Done(done).to_bytes().to_vec()),
        ("no-descriptor", vec![1; Descriptor::SIZE]),
    ]
}

#[test]
fn some_of_the_hellos_are_hellos() {
    let names: Vec<_> = attaching()
        .into_iter()
        .filter(|(_, bytes)| {
            let parts = bytes.split_first_chunk();
            parts.is_some_and(|(header, rest)| Hello::read(header, rest).is_ok())
        })
        .map(|(name, _)| name)
        .collect();
    assert_eq!(names, ["caller", "server"]);
}

/// Makes the messages of an agent with a program that counts bytes.
fn agent() -> Vec<(&'static str, Vec<u8>)> {
    let count = Register::Report { index: 0, is_volatile: true };
    let (condition, report) = (Register::Implicit(0), Register::Implicit(2));
    let bind = |result, right| Instruction { operation: Operation::Bind, result, left: result, right };
    let instructions = vec![
        Instruction {
            operation: Operation::Define,
            result: count,
            left: count,
            right: Register::Immediate(0),
        },
        bind(condition, Register::Immediate(1)),
        Instruction { operation: Operation::Add, result: count, left: count, right: Register::Signal(0) },
        bind(report, Register::Immediate(1)),
    ];
    let clause = Clause { condition_start: 1, condition_count: 1, body_start: 2, body_count: 2 };
    let fields = vec![Field { register: Register::Implicit(4), value: 20_000 }];
    let messages = [
        Message::Install(Install { flow: 0, program: 1, clauses: vec![clause], instructions }),
        Message::Change(Change { flow: 1, program: 1, fields: fields.clone() }),
        Message::Update(Update { flow: 1, fields }),
    ];
    let mut bytes = Vec::new();
    messages.iter().for_each(|message| message.encode(&mut bytes).unwrap());
    vec![("counting", bytes)]
}

/// Makes the bodies of offers.
fn offers() -> Vec<Seed> {
    let stacks = servers().into_iter().chain([hopeless()]);
    let bodies = stacks.map(|nodes| {
        let offer = Offer::new(ID, &nodes).unwrap();
        body_of(&wire::encode(Kind::Offer, Tag::of(ID), &offer).unwrap()).to_vec()
    });
    let named = bodies.enumerate().map(|(number, body)| (format!("offer-{number}"), body));
    named.collect()
}

/// A server's reply to an offer.
struct Reply {
    name: &'static str,
    kind: Kind,
    message: Vec<u8>,
}

impl Reply {
    fn behind_its_kind(&self) -> Vec<u8> {
        [&[self.kind as u8], body_of(&self.message)].concat()
    }
}

fn replies() -> [Reply; 3] {
    let answer = Answer {
        id: ID,
        client_picks: vec![0; 3],
        server_picks: vec![1; 3],
        idle_ms: 30_000,
        confirm: Some(7),
        early: 0,
        ticket: None,
        stack: "Serialize".into(),
        reasons: "client's a and server's b".into(),
        capabilities: Vec::new(),
    };
    let refusal =
        Refusal { id: ID, kind: RefusalKind::Incompatible, text: "no stack suits both ends".into() };
    let too_few = Answer { client_picks: vec![0], ..answer.clone() };
    let answering = |name, answer: &Answer| {
        let message = wire::encode(Kind::Answer, Tag::of(ID), answer).unwrap();
        Reply { name, kind: Kind::Answer, message }
    };
    let message = wire::encode(Kind::Refusal, Tag::of(ID), &refusal).unwrap();
    let refusing = Reply { name: "Refusal", kind: Kind::Refusal, message };
    [answering("Answer", &answer), answering("Answer-too-few", &too_few), refusing]
}

/// Makes the bodies of messages of every kind but offers.
fn wire_bodies() -> Vec<Seed> {
    let replies = replies();
    let data = [&Tag::of(ID).header(Kind::Data)[..], b"data"].concat();
    let joined = wire::join(&replies[0].message, &data, wire::LARGEST_JOINED).unwrap();
    let mut bodies = vec![("AnswerAndData".to_owned(), joined[wire::HEADER..].to_vec())];
    bodies.extend(replies.iter().map(|reply| (reply.name.into(), body_of(&reply.message).to_vec())));
    for (name, progress) in progress_reports() {
        let message = wire::encode(Kind::PeerProgress, Tag::of(ID), &progress).unwrap();
        bodies.push((name.into(), body_of(&message).to_vec()));
    }
    bodies
}

/// Makes the parts of first flights behind the offer: claim and messages.
fn first_flights() -> Vec<(&'static str, Vec<u8>)> {
    [
        ("two-messages", &b"\x00\x05\x00hello\x00\x00"[..]),
        ("cut", b"\x00\x05\x00hell"),
        ("wrong-claim", b"\x01123456789012345\x01\x00x"),
        ("taken", b"\x02\x00"),
        ("other-stack", b"\x00\x01"),
        ("taken-of-other-stack", b"\x02\x01"),
    ]
    .map(|(name, bytes)| (name, bytes.to_vec()))
    .into()
}

/// Packets of the reliability Chunnel behind their check: messages; an acknowledgement with a gap and a grant; an end; a
/// refusal; an empty packet; all at once; the largest numbers; and two inputs that are no packets.
pub(crate) const PACKETS: [&[u8]; 9] = [
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
        bertha_chunnels::reliable::wire::decode(&packet, bertha_chunnels::reliable::wire::Check::Crc)
            .is_some()
    };
    assert!(PACKETS[..7].iter().all(decodes));
    assert!(!PACKETS[7..].iter().any(decodes));
}

/// Makes messages as the compression Chunnel sends them: compressed, stored, and bombs.
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

/// The requests have to be numbers, since else no call has an answer, and no stream has credit.
#[test]
fn requests_of_calls_are_numbers() {
    let (_, bytes) = &calls()[0];
    let first = bertha_core::Buf::copy_of(&bytes[1..][..bytes[0].into()], 0).unwrap();
    let request = rpc::Message::decode(first).unwrap();
    assert_eq!(rpc::decode::<u64, _>(&CODEC, request.body()).unwrap(), 41);
}

/// Encodes a number in the format of these calls.
fn encoded(number: u64) -> Vec<u8> {
    let mut bytes = vec![0; 16];
    let len = rpc::encode(&CODEC, &number, &mut bytes).unwrap().unwrap();
    bytes.truncate(len);
    bytes
}

/// Puts each message behind its length of one byte.
fn framed(messages: &[&[u8]]) -> Vec<u8> {
    messages.iter().flat_map(|it| [&[it.len() as u8], *it].concat()).collect()
}

/// Makes messages of both ends of `Rpc`: calls of each kind, and a client's messages about them; answers to a
/// client's calls, late answers, and answers of a stream in any order; and messages that break the rules.
fn calls() -> Vec<(&'static str, Vec<u8>)> {
    let name = |kind: u8, slot: u8, generation: u8| [kind, slot, 0, 0, generation, 0, 0, 0];
    let numbered = |kind, slot, number: u32, body: &[u8]| {
        [&name(kind, slot, 0)[..], &number.to_le_bytes(), body].concat()
    };
    let call = |slot, method: Method, milliseconds: u8, body: &[u8]| {
        numbered(1, slot, method.id(), &[&[milliseconds, 0, 0, 0], body].concat())
    };
    // The service reads a request in this format, and the client reads a response.
    let bytes = encoded;
    let (next, count) = (call(0, NEXT, 0, &bytes(41)), call(1, COUNT, 0, &bytes(200)));
    let long = call(2, COUNT, 0, &bytes(1_000_000));
    let traced = [&[8], &next[1..16], &[3; 25], &bytes(41)[..]].concat();
    let with_metadata = |message: &[u8], head: usize| {
        let (first, rest) = (message[0] | 0x40, &message[1..]);
        [&[first], &rest[..head - 1], &[6, 0, 1, b'k', 2, 0, b'v', b'w'], &rest[head - 1..]].concat()
    };
    let credit = |slot, parts| numbered(5, slot, parts, &[]);
    let response = |slot, generation, body: &[u8]| [&name(2, slot, generation)[..], body].concat();
    let part = |index, number: u64| numbered(3, 2, index, &bytes(number));
    let end = |parts| numbered(4, 2, parts, &[]);
    let failure = |kind, text: &[u8]| [&name(7, 1, 0)[..], &[kind], text].concat();
    vec![
        ("calls", framed(&[&next, &count, &credit(1, 128), &call(3, NEXT, 1, &bytes(7)), &name(6, 1, 0)])),
        ("traced", framed(&[&traced, &traced[..20]])),
        (
            "metadata",
            framed(&[
                &with_metadata(&next, 16),
                &with_metadata(&traced, 16 + 25),
                &with_metadata(&call(2, COUNT, 0, &bytes(2)), 16),
                &with_metadata(&response(0, 1, &bytes(42)), 8),
                &with_metadata(&end(0), 12),
                &with_metadata(&failure(7, b"denied"), 9),
            ]),
        ),
        ("wrong-metadata", framed(&[&with_metadata(&next, 17), &with_metadata(&part(0, 0), 12)])),
        ("twice", framed(&[&count, &count, &next, &next])),
        ("much-credit", framed(&[&long, &credit(2, u32::MAX), &credit(2, 0), &credit(9, 128)])),
        ("cancelled-before", framed(&[&name(6, 0, 0), &next, &name(6, 9, 9)])),
        ("wrong-requests", framed(&[&call(0, NEXT, 0, &[]), &call(1, Method::new("none"), 0, &bytes(1))])),
        (
            "answers",
            framed(&[&response(0, 1, &bytes(42)), &response(1, 0, &bytes(43)), &response(0, 0, &bytes(44))]),
        ),
        ("stream", framed(&[&part(1, 1), &part(0, 0), &end(2)])),
        ("wrong-stream", framed(&[&part(64, 1), &part(0, 0), &part(0, 0), &end(1), &end(u32::MAX)])),
        (
            "requests",
            framed(&[
                &call(2, SUM, 0, &bytes(5)),
                &part(1, 1),
                &end(2),
                &part(0, 7),
                // Of the client's call with requests.
                &credit(3, 70),
                &response(3, 0, &bytes(42)),
            ]),
        ),
        (
            "wrong-requests-of-a-stream",
            framed(&[
                &call(2, SUM, 0, &bytes(5)),
                &part(0, 1),
                &part(0, 1),
                &part(64, 1),
                &call(4, SUM, 0, &bytes(5)),
                &numbered(3, 4, 0, &[0xff]),
                &credit(3, u32::MAX),
                &name(6, 3, 0),
            ]),
        ),
        ("leaving", framed(&[&name(10, 0, 0), &response(0, 1, &bytes(42)), &failure(8, b"late"), &end(0)])),
        ("failures", framed(&[&failure(1, b"busy"), &failure(250, b""), &failure(0, &[0xff])])),
        ("cut", framed(&[&next[..15], &part(0, 0)[..11], &name(7, 1, 0), &name(2, 1, 0)[..7], &[]])),
    ]
}

/// Makes messages as Chunnels take them, each behind its length: pieces that make a message, that contradict
/// each other, or that claim a great length; a probe and its acknowledgement; numbers in and out of order; a
/// batch; and messages that are too short.
fn layered() -> Vec<(&'static str, Vec<u8>)> {
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

/// Makes streams of messages, as `Quic` and `Tls` send them, behind the length of their pieces. Each message
/// stands behind its length, which is at most `largest`.
fn streams(largest: u32) -> Vec<(&'static str, Vec<u8>)> {
    let framed = |message: &[u8]| [&(message.len() as u32).to_be_bytes()[..], message].concat();
    let two = [framed(b"hello"), framed(b""), framed(&[7; 300])].concat();
    vec![
        ("messages", [&[255][..], &two].concat()),
        ("byte-by-byte", [&[0][..], &two].concat()),
        ("cut-in-a-message", [&[6][..], &two[..40]].concat()),
        ("cut-in-a-length", [&[2][..], &two[..11]].concat()),
        ("large", [&[255][..], &framed(&[1; 64 * 1024])].concat()),
        ("too-large", [&[3][..], &framed(b"a"), &(largest + 1).to_be_bytes(), &[0]].concat()),
        ("much-too-large", vec![0, 255, 255, 255, 255, 1]),
    ]
}

/// Makes messages that the encrypting Chunnel takes, and messages that it nearly takes.
fn noise() -> Vec<(&'static str, Vec<u8>)> {
    use bertha_chunnels::noise::wire::{
        Header, RESPONSE, Refusal, SHARED_INITIATION, STATIC_INITIATION, TAG, initiation, refusal, response,
    };
    let header = Header { number: 7, tag: [9; TAG] };
    vec![
        ("shared-initiation", initiation(&[3; SHARED_INITIATION])),
        ("static-initiation", initiation(&[3; STATIC_INITIATION])),
        ("cut-initiation", initiation(&[3; STATIC_INITIATION - 1])),
        ("response", response(&[5; RESPONSE])),
        ("longer-response", [response(&[5; RESPONSE]), vec![0]].concat()),
        ("unreadable", refusal(Refusal::Unreadable).to_vec()),
        ("untrusted", refusal(Refusal::Untrusted).to_vec()),
        ("message", [&header.encode()[..], b"encrypted"].concat()),
        ("empty-message", header.encode().to_vec()),
    ]
}

/// Makes reports of two participants' progress.
fn progress_reports() -> [(&'static str, PeerProgress); 2] {
    let before = Before { life: 9, round: 3, sent: Some(u32::MAX) };
    let moved = PeerProgress { sender: u64::MAX, life: 9, round: 4, before: Some(before), asks: false };
    [
        ("PeerProgress-asks", PeerProgress { before: None, asks: true, ..moved.clone() }),
        ("PeerProgress-moved", moved),
    ]
}

/// Makes records, and a participant's presence, without the version of their format.
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
    let presence = Presence { active: 1, accepted: 2, check: 3 };
    records.push(("presence", postcard::to_allocvec(&presence).unwrap()));
    records
}

/// Makes messages that are valid, except that their proofs come from other keys than the keys of the target.
fn proven() -> Vec<Seed> {
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
        let (mut settings, now, fresh) = (Settings::default(), Instant::now(), HandshakeNonce::draw(|| 3));
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
                path: b"path",
                early_data: EarlyData::AtOnce,
                tickets: None,
                now,
                amplification_limit: AmplificationLimit::UNLIMITED,
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
