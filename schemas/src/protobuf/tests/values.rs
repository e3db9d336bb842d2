//! Messages whose bytes are known.

use crate::described::{field, message, of_message, repeated, schema, with_choice, with_optional};
use crate::reference::Reference;
use crate::{Encoded, Fault, Limits, Memory, MessageId, Plan, PrivateMemory, Room};
use prost_types::DescriptorProto;
use prost_types::field_descriptor_proto::Type;

/// A plan, and its message `A`.
fn plan(messages: Vec<DescriptorProto>) -> (Plan, MessageId) {
    let plan = Plan::new(&schema(messages));
    let id = plan.message("test.A").unwrap();
    (plan, id)
}

fn decoded(plan: &Plan, id: MessageId, encoded: &[u8]) -> Result<(PrivateMemory, u64), Fault> {
    let mut heap = PrivateMemory::of(1 << 20);
    let at = plan.decode(id, encoded, &mut heap, Limits::default())?;
    Ok((heap, at))
}

fn encoded(plan: &Plan, id: MessageId, heap: &PrivateMemory, at: u64) -> Result<Vec<u8>, Fault> {
    let mut encoded = Encoded::new();
    plan.encode(id, heap, at, Limits::default(), &mut encoded)?;
    Ok(encoded.as_bytes().to_vec())
}

/// Decodes and encodes.
fn again(plan: &Plan, id: MessageId, bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let (heap, at) = decoded(plan, id, bytes)?;
    encoded(plan, id, &heap, at)
}

#[test]
fn numbers_are_encoded_as_the_guide_of_protobuf_says() {
    let cases: [(Type, u64, &[u8]); 11] = [
        (Type::Int32, 150, &[0x08, 0x96, 0x01]),
        (Type::Int32, u32::MAX.into(), &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        (Type::Sint32, u32::MAX.into(), &[0x08, 0x01]),
        (Type::Sint64, i64::MIN as u64, &[0x08, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
        (Type::Uint64, 1 << 63, &[0x08, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
        (Type::Enum, 1, &[0x08, 0x01]),
        (Type::Bool, 1, &[0x08, 0x01]),
        (Type::Fixed32, 1, &[0x0d, 1, 0, 0, 0]),
        (Type::Float, 1.0_f32.to_bits() as u64, &[0x0d, 0, 0, 0x80, 0x3f]),
        (Type::Double, (-0.0_f64).to_bits(), &[0x09, 0, 0, 0, 0, 0, 0, 0, 0x80]),
        (Type::Sfixed64, 0, &[]),
    ];
    for (described, value, bytes) in cases {
        let (plan, id) = plan(vec![message("A", vec![field(1, "a", described)])]);
        let mut heap = PrivateMemory::of(64);
        let at = heap.put(&value.to_le_bytes()).unwrap();
        assert_eq!(encoded(&plan, id, &heap, at).unwrap(), bytes, "{described:?}");
        assert_eq!(again(&plan, id, bytes).unwrap(), bytes, "{described:?}");
    }
}

#[test]
fn a_field_that_comes_twice_counts_as_it_came_last() {
    let part = || of_message(2, "b", "B");
    let b = message("B", vec![field(1, "a", Type::Uint32), repeated(field(2, "s", Type::Uint32))]);
    let (plan, id) = plan(vec![message("A", vec![field(1, "a", Type::String), part()]), b]);
    assert_eq!(again(&plan, id, b"\x0a\x01x\x0a\x02yz").unwrap(), b"\x0a\x02yz");
    // A message is merged, and its rows are continued, packed or not.
    let twice = again(&plan, id, b"\x12\x04\x08\x07\x10\x01\x12\x05\x12\x03\x02\x03\x04").unwrap();
    assert_eq!(twice, b"\x12\x08\x08\x07\x12\x04\x01\x02\x03\x04");
}

#[test]
fn of_a_choice_the_last_field_is_there_alone() {
    let a = with_choice(
        message("A", vec![]),
        vec![field(1, "a", Type::Uint32), of_message(2, "b", "B"), field(3, "c", Type::Bytes)],
    );
    let (plan, id) = plan(vec![a, message("B", vec![field(1, "a", Type::Uint32)])]);
    assert_eq!(again(&plan, id, b"\x12\x02\x08\x07\x08\x00").unwrap(), b"\x08\x00");
    // A message that another field has replaced is not merged with.
    assert_eq!(again(&plan, id, b"\x12\x02\x08\x07\x1a\x00\x12\x00").unwrap(), b"\x12\x00");
    assert_eq!(again(&plan, id, b"\x1a\x00").unwrap(), b"\x1a\x00");
}

#[test]
fn an_optional_field_of_zero_is_there() {
    let a = with_optional(message("A", vec![]), field(1, "a", Type::Uint32));
    let (plan, id) = plan(vec![a]);
    assert_eq!(again(&plan, id, b"\x08\x00").unwrap(), b"\x08\x00");
    assert_eq!(again(&plan, id, b"").unwrap(), b"");
}

#[test]
fn unknown_fields_are_dropped_whatever_they_are() {
    let (plan, id) = plan(vec![message("A", vec![field(9, "a", Type::Uint32)])]);
    let groups = b"\x0b\x13\x08\x01\x14\x1a\x01x\x0c";
    let unknown = [b"\x08\x96\x01\x11\0\0\0\0\0\0\0\0\x1a\x01x\x25\0\0\0\0".as_slice(), groups, b"\x48\x05"];
    assert_eq!(again(&plan, id, &unknown.concat()).unwrap(), b"\x48\x05");
}

#[test]
fn a_row_takes_a_single_reservation_if_it_comes_at_once() {
    let a = vec![repeated(of_message(1, "b", "B")), repeated(field(2, "n", Type::Uint32))];
    let (plan, id) = plan(vec![message("A", a), message("B", vec![field(1, "a", Type::Uint64)])]);
    let row = [b"\x0a\x02\x08\x07".repeat(100), b"\x12\x03\x01\x02\x03".to_vec()].concat();
    let (heap, at) = decoded(&plan, id, &row).unwrap();
    assert_eq!(heap.used(), 32 + 100 * 8 + 16);
    let mut structure = [0; 32];
    heap.read(at, &mut structure).unwrap();
    assert_eq!(Reference::read(&structure[16..]).capacity, 3);
    // Elements that alternate get their room by doubling.
    let alternating = b"\x0a\x02\x08\x07\x10\x01".repeat(100);
    let (heap, at) = decoded(&plan, id, &alternating).unwrap();
    assert!(heap.used() < 32 + 4 * 100 * 12, "{}", heap.used());
    assert_eq!(encoded(&plan, id, &heap, at).unwrap().len(), 100 * 4 + 2 + 100);
}

#[test]
fn a_buffer_is_used_again() {
    let (plan, id) = plan(vec![message("A", vec![field(1, "a", Type::Bytes)])]);
    let mut into = Encoded::new();
    for length in [5000, 10, 0, 70_000, 1] {
        let mut heap = PrivateMemory::of(1 << 20);
        let at = heap.put(&vec![7; length]).unwrap();
        let reference = Reference { at, len: length as u32, capacity: 0 };
        let at = heap.put(&reference.to_bytes()).unwrap();
        plan.encode(id, &heap, at, Limits::default(), &mut into).unwrap();
        assert_eq!(again(&plan, id, into.as_bytes()).unwrap(), into.as_bytes());
        assert!(into.as_bytes().len() >= length);
    }
}
