//! The replay of everything that the fuzzers found worth keeping, and of the seeds that they start from.

use super::{grpc, peers};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::attach::Role;
use bertha_managed::{Descriptor, InHeap};
use bertha_rpcd::testing::{Between, greeting, grpc as format};
use bertha_schemas::{Frame, Limits, Plan, PrivateMemory, Room, Schema};
use bertha_tests::fuzz_targets::Archive;
use bertha_tests::fuzz_targets::attach::good_hello;
use bertha_tests::fuzz_targets::schemas::{GOOD_MESSAGE, good_schema};
use std::fs;
use std::path::Path;

const CORPUS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/fuzz/corpus");

/// The name of a corpus, its target, and its seeds.
type Corpus = (&'static str, fn(&[u8]), fn() -> Vec<Seed>);

/// The name of an input, and the input.
type Seed = (&'static str, Vec<u8>);

const ALL: [Corpus; 2] = [("grpc", grpc::call, of_grpc), ("peers", peers::messages, of_peers)];

#[test]
fn every_input_holds() {
    for (name, target, _) in ALL {
        let bytes = fs::read(format!("{CORPUS}/{name}.tar")).unwrap();
        let mut count = 0;
        for (input, bytes) in Archive::new(&bytes) {
            println!("{name}/{input}");
            target(bytes);
            count += 1;
        }
        assert!(count > 0, "no corpus of {name}");
    }
}

#[test]
fn every_seed_holds() {
    for (name, target, seeds) in ALL {
        for (seed, bytes) in seeds() {
            println!("{name}/seed-{seed}");
            target(&bytes);
        }
    }
}

/// Each of the first bytes of a seed in turn is another.
#[test]
fn seeds_with_one_other_byte_hold() {
    for (name, target, seeds) in ALL {
        for (seed, bytes) in seeds() {
            for at in 0..bytes.len().min(256) {
                for other in [0, 0xff, bytes[at] ^ 1, bytes[at].wrapping_add(1)] {
                    let mut bytes = bytes.clone();
                    bytes[at] = other;
                    println!("{name}/seed-{seed}, {other} at {at}");
                    target(&bytes);
                }
            }
        }
    }
}

/// Writes the seeds beside the unpacked corpora, for `scripts/fuzz seed`.
#[test]
#[ignore = "writes into the corpora"]
fn write_seeds() {
    for (name, _, seeds) in ALL {
        let folder = Path::new(CORPUS).join(name);
        fs::create_dir_all(&folder).unwrap();
        for (seed, bytes) in seeds() {
            fs::write(folder.join(format!("seed-{seed}")), bytes).unwrap();
        }
    }
}

/// Makes bodies, deadlines and statuses, and some that are none.
fn of_grpc() -> Vec<Seed> {
    let as_is = |kind: u8, bytes: &[u8]| [&[kind], bytes].concat();
    let (body, empty) = (format::body(GOOD_MESSAGE), format::body(b""));
    let packed = [&[1], &body[1..]].concat();
    vec![
        ("body", as_is(0, &body)),
        ("empty-body", as_is(0, &empty)),
        ("several", as_is(0, &[&body[..], &empty, &body].concat())),
        ("cut", as_is(0, &body[..body.len() - 1])),
        ("compressed", as_is(0, &packed)),
        ("too-long", as_is(0, &[0, 255, 255, 255, 255, 0])),
        ("no-message", as_is(0, &format::body(b"\x0a\x01\xff"))),
        ("hours", as_is(1, b"99999999H")),
        ("nanoseconds", as_is(1, b"1000001n")),
        ("no-deadline", as_is(1, b"+1m")),
        ("success", as_is(2, b"0\n")),
        ("failure", as_is(2, b"7\nno %25 of gr%C3%B6%C3%9Fe%0a%")),
        ("no-text", as_is(2, b"16\n%ff%FE%zz\xc3")),
        ("no-code", as_is(2, b"99999\ntext")),
        ("long-text", as_is(2, &[&b"3\n"[..], &[b'%'; 3000]].concat())),
    ]
}

/// Makes calls between daemons, with their outcomes, and messages that break the protocol.
fn of_peers() -> Vec<Seed> {
    let frame = frame();
    let message = |descriptor: Descriptor| [&descriptor.to_bytes(), &frame[Descriptor::SIZE..]].concat();
    let at = |at| InHeap { at, bytes: frame.len() as u32, number: 0 };
    let good = Frame::MESSAGE + Descriptor::SIZE as u64;
    let request = |call| {
        message(Descriptor::Request { call, method: 0, message: at(good), milliseconds: 0, trace: None })
    };
    let response = |call| message(Descriptor::Response { call, message: at(good) });
    let cancel = |call| Descriptor::Cancellation { call }.to_bytes().to_vec();
    let without = |method| {
        Descriptor::Request { call: 1, method, message: at(0), milliseconds: 0, trace: None }
            .to_bytes()
            .to_vec()
    };
    let outside =
        message(Descriptor::Request { call: 1, method: 0, message: at(8), milliseconds: 0, trace: None });
    let kind = FailureKind::Denied;
    let failure = message(Descriptor::Failure { call: 0, kind, may_have_run: true, reason: at(good + 16) });
    let (by_caller, by_server) = (|message: Vec<u8>| said(0, &message), |message: Vec<u8>| said(1, &message));
    vec![
        ("call", [by_caller(request(9)), by_server(response(0))].concat()),
        ("failure", [by_caller(request(9)), by_server(failure)].concat()),
        ("dropped", [by_caller(request(9)), by_server(cancel(0))].concat()),
        ("cancelled", [by_caller(request(9)), by_caller(cancel(9)), by_server(response(0))].concat()),
        ("again", [by_caller(request(9)), by_server(response(0)), by_caller(request(9))].concat()),
        ("twice", [by_caller(request(9)), by_caller(request(9))].concat()),
        ("open", [by_caller(request(9)), by_caller(request(10))].concat()),
        ("two-responses", [by_caller(request(9)), by_server(response(0)), by_server(response(0))].concat()),
        ("no-such-method", by_caller(without(7))),
        ("nothing", by_caller(without(0))),
        ("outside", by_caller(outside)),
        ("wrong-ends", [by_caller(response(0)), by_server(request(1))].concat()),
        ("no-descriptor", [by_caller(vec![0xff; 64]), by_server(vec![1; 3])].concat()),
        ("grown", by_caller(Descriptor::Grown { bytes: 1 << 20 }.to_bytes().to_vec())),
        ("hello", good_hello(Role::Caller, &good_schema())),
        ("hello-of-a-server", good_hello(Role::Server, &good_schema())),
        ("taken", vec![0]),
        ("refused", b"\x01no place\nfor \xff".to_vec()),
    ]
}

/// Returns a message as one of the daemons says it.
fn said(author: u8, message: &[u8]) -> Vec<u8> {
    [&[author], &(message.len() as u16).to_be_bytes()[..], message].concat()
}

/// Returns a frame with a message with fields of all kinds, behind room for a descriptor.
fn frame() -> Vec<u8> {
    let schema = Schema::read(&good_schema()).unwrap();
    let plan = Plan::new(&schema);
    let kind = plan.message(&schema.methods()[0].request).unwrap();
    let mut frame = PrivateMemory::of(1 << 16);
    frame.reserve(Descriptor::SIZE).unwrap();
    let at = plan.decode(kind, GOOD_MESSAGE, &mut frame, Limits::default()).unwrap();
    assert_eq!(at, Frame::MESSAGE + Descriptor::SIZE as u64);
    frame.as_bytes().to_vec()
}

#[test]
fn some_of_the_seeds_are_what_others_say() {
    let is_body =
        |(name, bytes): Seed| (bytes[0] == 0 && format::message(&bytes[1..]).is_some()).then_some(name);
    assert_eq!(
        of_grpc().into_iter().filter_map(is_body).collect::<Vec<_>>(),
        ["body", "empty-body", "no-message"]
    );
    let is_hello = |(name, bytes): Seed| greeting::hello(&bytes).is_ok().then_some(name);
    assert_eq!(of_peers().into_iter().filter_map(is_hello).collect::<Vec<_>>(), ["hello"]);
    let (_, call) = of_peers().swap_remove(0);
    let mut between = Between::new(&good_schema()).unwrap();
    let mut rest = &call[..];
    for role in [Role::Caller, Role::Server] {
        let length = usize::from(u16::from_be_bytes([rest[1], rest[2]]));
        let message = bertha_core::Buf::copy_of(&rest[peers::HEAD..][..length], 0).unwrap();
        assert!(between.take(role, message));
        rest = &rest[peers::HEAD + length..];
    }
    let heard = between.hear(Role::Caller);
    let outcome = Descriptor::read(heard[0].first_chunk().unwrap());
    assert!(matches!(outcome, Ok(Descriptor::Response { call: 9, .. })), "{outcome:?}");
}
