//! Memory and messages as strangers write them.

use crate::described::{field, message, of_message, repeated, schema};
use crate::reference::Reference;
use crate::{Encoded, Fault, Limits, Memory, MessageId, Outside, Plan, PrivateMemory, Room};
use proptest::prelude::*;
use prost_types::field_descriptor_proto::Type;

/// A message of all that has addresses, which holds itself.
fn plan() -> (Plan, MessageId) {
    let fields = vec![
        of_message(1, "inner", "A"),
        field(2, "name", Type::String),
        field(3, "content", Type::Bytes),
        repeated(field(4, "numbers", Type::Int32)),
        repeated(field(5, "names", Type::String)),
        repeated(of_message(6, "parts", "A")),
    ];
    let plan = Plan::new(&schema(vec![message("A", fields)]));
    let id = plan.message("test.A").unwrap();
    (plan, id)
}

fn encode(memory: &impl Memory, at: u64, limits: Limits) -> Result<usize, Fault> {
    let (plan, id) = plan();
    let mut encoded = Encoded::new();
    plan.encode(id, memory, at, limits, &mut encoded)?;
    Ok(encoded.as_bytes().len())
}

/// Returns a heap with a structure in which this reference lies at the place of a field.
fn with_reference(number: u32, reference: Reference) -> (PrivateMemory, u64) {
    let (plan, id) = plan();
    let mut heap = PrivateMemory::of(1 << 16);
    let at = heap.reserve(plan.size(id)).unwrap();
    let place = at + plan.field(id, number).unwrap() as u64;
    heap.bytes(place, 16).copy_from_slice(&reference.to_bytes());
    (heap, at)
}

#[test]
fn an_address_outside_is_a_fault() {
    for number in 2..=6 {
        for at in [0, 8, u64::MAX, u64::MAX - 7, 1 << 63] {
            let (heap, structure) = with_reference(number, Reference { at, len: 9, capacity: 9 });
            let fault = encode(&heap, structure, Limits::default()).unwrap_err();
            assert!(matches!(fault, Fault::Outside(_)), "{number}, {at}: {fault}");
        }
    }
    let outside = encode(&PrivateMemory::of(0), 1, Limits::default());
    assert_eq!(outside, Err(Fault::Outside(Outside { at: 1 })));
}

#[test]
fn a_length_costs_no_more_than_the_limits() {
    let limits = Limits::default();
    for number in 2..=6 {
        let (heap, at) = with_reference(number, Reference { at: 0, len: u32::MAX, capacity: 0 });
        let fault = encode(&heap, at, limits).unwrap_err();
        assert!(matches!(fault, Fault::Large(_) | Fault::Long(_) | Fault::Outside(_)), "{number}: {fault}");
    }
}

#[test]
fn a_message_within_itself_ends_at_the_depth() {
    let (plan, id) = plan();
    let (mut heap, at) = with_reference(2, Reference::default());
    let place = at + plan.field(id, 1).unwrap() as u64;
    heap.bytes(place, 8).copy_from_slice(&at.to_le_bytes());
    assert_eq!(encode(&heap, at, Limits::default()), Err(Fault::Deep(100)));
    let (mut heap, at) = with_reference(6, Reference::default());
    let place = at + plan.field(id, 6).unwrap() as u64;
    let row = Reference { at, len: 1, capacity: 1 };
    heap.bytes(place, 16).copy_from_slice(&row.to_bytes());
    assert_eq!(encode(&heap, at, Limits::default()), Err(Fault::Deep(100)));
}

#[test]
fn a_message_that_fails_leaves_nothing_of_itself_or_of_another() {
    let (plan, id) = plan();
    let (mut heap, at) = with_reference(2, Reference::default());
    let text = heap.put(b"secret").unwrap();
    let place = at + plan.field(id, 2).unwrap() as u64;
    let reference = Reference { at: text, len: 6, capacity: 6 };
    heap.bytes(place, 16).copy_from_slice(&reference.to_bytes());
    let mut encoded = Encoded::new();
    plan.encode(id, &heap, at, Limits::default(), &mut encoded).unwrap();
    assert_eq!(encoded.as_bytes(), b"\x12\x06secret");
    let (outside, at) = with_reference(2, Reference { at: u64::MAX, ..reference });
    assert!(plan.encode(id, &outside, at, Limits::default(), &mut encoded).is_err());
    assert_eq!(encoded.as_bytes(), b"");
}

/// Memory of zeros, and of references to itself.
struct Endless;

impl Memory for Endless {
    fn read(&self, _: u64, into: &mut [u8]) -> Result<(), Outside> {
        let reference = Reference { at: 8, len: 3, capacity: 3 }.to_bytes();
        into.iter_mut().zip(reference.iter().cycle()).for_each(|(byte, of)| *byte = *of);
        Ok(())
    }
}

#[test]
fn memory_that_is_everywhere_the_same_ends_at_a_limit() {
    let limits = Limits::default().encoded(1 << 16).memory(1 << 20).depth(5);
    assert!(encode(&Endless, 8, limits).is_err());
}

#[test]
fn text_that_is_none_is_a_fault_both_ways() {
    let mut heap = PrivateMemory::of(1 << 10);
    let (plan, id) = plan();
    let text = heap.put(&[0xff]).unwrap();
    let at = heap.reserve(plan.size(id)).unwrap();
    let place = at + plan.field(id, 2).unwrap() as u64;
    let reference = Reference { at: text, len: 1, capacity: 1 };
    heap.bytes(place, 16).copy_from_slice(&reference.to_bytes());
    assert_eq!(encode(&heap, at, Limits::default()), Err(Fault::NotText(2)));
    assert_eq!(plan.decode(id, b"\x12\x01\xff", &mut heap, Limits::default()), Err(Fault::NotText(2)));
}

#[test]
fn messages_of_strangers_are_faults_by_their_kind() {
    let (plan, id) = plan();
    let cases: [(&[u8], Fault); 12] = [
        (b"\x08", Fault::Unfinished),
        (b"\x0a\x05\x00", Fault::Unfinished),
        (b"\x0a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", Fault::Unfinished),
        (b"\x39\x00", Fault::Unfinished),
        (b"\x3b\x08\x01", Fault::Unfinished),
        (b"\x00\x00", Fault::Malformed),
        (b"\x0e", Fault::Malformed),
        (b"\x3c", Fault::Malformed),
        (b"\x3b\x44", Fault::Malformed),
        (b"\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f", Fault::Malformed),
        (b"\x10\x01", Fault::OtherType(2)),
        (b"\x25\0\0\0\0", Fault::OtherType(4)),
    ];
    for (bytes, fault) in cases {
        let mut heap = PrivateMemory::of(1 << 10);
        assert_eq!(plan.decode(id, bytes, &mut heap, Limits::default()), Err(fault), "{bytes:?}");
    }
}

#[test]
fn a_small_message_of_much_memory_ends_at_the_limit() {
    let (plan, id) = plan();
    // Each empty part takes two bytes, and a whole structure in memory.
    let parts = b"\x32\x00".repeat(10_000);
    let mut heap = PrivateMemory::of(1 << 30);
    let limits = Limits::default().memory(1 << 16);
    assert_eq!(plan.decode(id, &parts, &mut heap, limits), Err(Fault::Large(1 << 16)));
    assert!(heap.used() <= 1 << 16);
    assert_eq!(
        plan.decode(id, &parts, &mut PrivateMemory::of(1 << 10), Limits::default()),
        Err(Fault::NoRoom)
    );
    assert_eq!(plan.decode(id, &parts, &mut heap, limits.encoded(9)), Err(Fault::Long(9)));
    let deep = (0..101).fold(Vec::new(), |inner: Vec<u8>, _| {
        let mut outer = vec![0x0a];
        prost::encoding::encode_varint(inner.len() as u64, &mut outer);
        outer.extend(inner);
        outer
    });
    assert_eq!(plan.decode(id, &deep, &mut heap, Limits::default()), Err(Fault::Deep(100)));
    let groups = b"\x3b".repeat(200);
    assert_eq!(plan.decode(id, &groups, &mut heap, Limits::default()), Err(Fault::Malformed));
}

proptest! {
    #[test]
    fn bytes_that_are_decoded_at_all_are_encoded_again(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let (plan, id) = plan();
        let mut heap = PrivateMemory::of(1 << 20);
        if let Ok(at) = plan.decode(id, &bytes, &mut heap, Limits::default()) {
            prop_assert!(encode(&heap, at, Limits::default()).is_ok());
        }
    }

    #[test]
    fn any_memory_is_encoded_or_refused(words in proptest::collection::vec(0..4096_u64, 0..512), start in 0..64_u64) {
        let mut heap = PrivateMemory::of(1 << 20);
        let bytes: Vec<_> = words.iter().flat_map(|word| (4096 + word).to_le_bytes()).collect();
        let at = heap.put(&bytes).unwrap();
        let limits = Limits::default().encoded(1 << 12).memory(1 << 16);
        if let Ok(len) = encode(&heap, at + 8 * start, limits) {
            prop_assert!(len <= 1 << 12);
        }
    }
}
