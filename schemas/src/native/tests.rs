mod leaving;
mod parts;

use crate::described::{field, message, of_message, repeated, schema, with_choice, with_optional};
use crate::reference::{Reference, word};
use crate::{Encoded, Fault, Frame, Limits, Memory, MessageId, Plan, PrivateMemory, Room, Schema};
use proptest::prelude::*;
use prost_types::field_descriptor_proto::Type;

/// A message with fields of all kinds, which holds itself.
fn plan() -> (Plan, MessageId) {
    let plan = Plan::new(&described());
    let id = plan.message("test.A").unwrap();
    (plan, id)
}

fn described() -> Schema {
    let fields = vec![
        of_message(1, "inner", "A"),
        field(2, "name", Type::String),
        field(3, "content", Type::Bytes),
        field(4, "flag", Type::Bool),
        field(5, "count", Type::Uint32),
        repeated(field(6, "flags", Type::Bool)),
        repeated(field(7, "names", Type::String)),
        repeated(of_message(8, "parts", "A")),
    ];
    let message =
        with_choice(message("A", fields), vec![field(9, "left", Type::Int64), of_message(10, "right", "A")]);
    let message = with_optional(message, field(11, "weight", Type::Double));
    schema(vec![message])
}

/// Memory with a structure that has all bytes set, but no address.
struct Full {
    plan: Plan,
    id: MessageId,
    memory: PrivateMemory,
    at: u64,
}

impl Full {
    fn new() -> Self {
        let (plan, id) = plan();
        let mut memory = PrivateMemory::of(1 << 16);
        let at = memory.put(&vec![0xff; plan.size(id)]).unwrap();
        let mut full = Self { plan, id, memory, at };
        for number in [1, 10] {
            full.set(number, &[0; 8]);
        }
        for number in [2, 3, 6, 7, 8] {
            full.set(number, &[0; 16]);
        }
        full
    }

    fn place(&self, number: u32) -> u64 {
        self.plan.field(self.id, number).unwrap() as u64
    }

    fn set(&mut self, number: u32, bytes: &[u8]) {
        let at = self.at + self.place(number);
        self.memory.bytes(at, bytes.len()).copy_from_slice(bytes);
    }

    fn set_row(&mut self, number: u32, elements: &[u8], len: u32) {
        let at = self.memory.put(elements).unwrap();
        self.set(number, &Reference { at, len, capacity: 77 }.to_bytes());
    }

    /// Chooses a field.
    fn choose(&mut self, number: u32) {
        let choice = self.at + 8;
        self.memory.bytes(choice, 4).copy_from_slice(&number.to_le_bytes());
    }

    fn copy(&self, limits: Limits) -> Result<PrivateMemory, Fault> {
        let mut copy = PrivateMemory::of(1 << 16);
        let at = self.plan.copy(self.id, &self.memory, self.at, &mut copy, limits)?;
        assert_eq!(at, Frame::MESSAGE);
        Ok(copy)
    }

    /// Returns bytes of the copy's field.
    fn copied<const N: usize>(&self, number: u32) -> [u8; N] {
        let mut bytes = [0; N];
        self.copy(Limits::default()).unwrap().read(Frame::MESSAGE + self.place(number), &mut bytes).unwrap();
        bytes
    }
}

#[test]
fn what_is_not_there_is_zero_in_the_copy() {
    let mut full = Full::new();
    assert_eq!((full.copied(4), full.copied(5)), ([1], [0xff; 4]));
    // The choice names no field of the message.
    assert_eq!(full.copied(9), [0; 8]);
    assert_eq!(full.copied(11), [0xff; 8]);
    let head = full.at;
    full.memory.bytes(head, 8).fill(0);
    assert_eq!(full.copied(11), [0; 8]);
    full.choose(9);
    assert_eq!((full.copied(9), full.copied(10)), ([0xff; 8], [0; 8]));
}

#[test]
fn bits_and_choices_that_stand_for_no_field_are_zero_in_the_copy() {
    let full = Full::new();
    let copy = full.copy(Limits::default()).unwrap();
    let mut head = [0xff; 16];
    copy.read(Frame::MESSAGE, &mut head).unwrap();
    // One field is optional.
    assert_eq!((word(&head[..8]), word(&head[8..12])), (1, 0));
}

#[test]
fn a_chosen_message_without_a_structure_is_a_level() {
    let mut full = Full::new();
    full.choose(10);
    assert_eq!(full.copy(Limits::default().depth(1)).unwrap_err(), Fault::Deep(1));
    let mut encoded = Encoded::new();
    let mut encode = |depth| {
        full.plan.encode(full.id, &full.memory, full.at, Limits::default().depth(depth), &mut encoded)
    };
    assert_eq!((encode(1), encode(2)), (Err(Fault::Deep(1)), Ok(())));
}

#[test]
fn what_lies_between_fields_is_zero_in_the_copy() {
    let full = Full::new();
    let flag = full.place(4);
    let copy = full.copy(Limits::default()).unwrap();
    let mut between = [0xff; 3];
    assert_eq!(full.place(5), flag + 4);
    copy.read(Frame::MESSAGE + flag + 1, &mut between).unwrap();
    assert_eq!(between, [0; 3]);
}

#[test]
fn a_message_whose_presence_is_told_has_a_structure() {
    let mut full = Full::new();
    assert_eq!(word(&full.copied::<8>(1)), 0);
    full.choose(10);
    let inner = word(&full.copied::<8>(10));
    let mut structure = vec![0xff; full.plan.size(full.id)];
    full.copy(Limits::default()).unwrap().read(inner, &mut structure).unwrap();
    assert!(structure.iter().all(|byte| *byte == 0));
}

#[test]
fn every_flag_is_zero_or_one() {
    let mut full = Full::new();
    full.set_row(6, &[0, 2, 0x80], 3);
    let row = Reference::read(&full.copied::<16>(6));
    let mut flags = [0xff; 3];
    full.copy(Limits::default()).unwrap().read(row.at, &mut flags).unwrap();
    assert_eq!((row.len, row.capacity, flags), (3, 3, [0, 1, 1]));
}

#[test]
fn text_that_is_none_is_not_copied() {
    let mut full = Full::new();
    full.set_row(3, &[0xff], 1);
    assert!(full.copy(Limits::default()).is_ok());
    full.set_row(2, &[0xff], 1);
    assert_eq!(full.copy(Limits::default()).unwrap_err(), Fault::NotText(2));
    full.set(2, &[0; 16]);
    let text = full.memory.put(&[0xff]).unwrap();
    full.set_row(7, &Reference { at: text, len: 1, capacity: 1 }.to_bytes(), 1);
    assert_eq!(full.copy(Limits::default()).unwrap_err(), Fault::NotText(7));
}

#[test]
fn a_copy_ends_at_the_limits() {
    let mut full = Full::new();
    let at = full.at;
    full.set(1, &at.to_le_bytes());
    assert_eq!(full.copy(Limits::default()).unwrap_err(), Fault::Deep(100));
    full.set(1, &[0; 8]);
    full.set(8, &Reference { at, len: u32::MAX, capacity: 0 }.to_bytes());
    assert_eq!(full.copy(Limits::default()).unwrap_err(), Fault::Large(64 << 20));
    full.set(8, &Reference { at: 8, len: 1, capacity: 0 }.to_bytes());
    assert!(matches!(full.copy(Limits::default()), Err(Fault::Outside(_))));
    full.set(8, &[0; 16]);
    // The structure, and that of the chosen message.
    full.choose(10);
    let both = 2 * full.plan.size(full.id);
    assert!(full.copy(Limits::default().memory(both)).is_ok());
    assert_eq!(full.copy(Limits::default().memory(both - 1)).unwrap_err(), Fault::Large(both - 1));
}

#[test]
fn a_measure_ends_above_its_bound_and_in_memory_that_leads_to_itself() {
    let mut full = Full::new();
    let size = full.plan.size(full.id) as u64;
    let at = full.at;
    let measure = |full: &Full, most| full.plan.measure(full.id, &full.memory, full.at, most);
    full.set(1, &at.to_le_bytes());
    assert_eq!(measure(&full, u64::MAX), 101 * size);
    assert_eq!(measure(&full, 3 * size), 4 * size);
    full.set(1, &8_u64.to_le_bytes());
    assert_eq!(measure(&full, u64::MAX), 2 * size, "the structure is outside");
    full.set(1, &[0; 8]);
    // Texts that are many and long, of which a bound needs none.
    full.set(7, &Reference { at, len: u32::MAX, capacity: 0 }.to_bytes());
    full.set(3, &Reference { at, len: 4096, capacity: 0 }.to_bytes());
    assert_eq!(measure(&full, 4096), size + 16 * u64::from(u32::MAX) + 4096);
}

proptest! {
    /// A copy of any memory is a message by all rules: it can be encoded, and a copy of it is the same.
    #[test]
    fn any_memory_is_copied_whole_or_refused(words in proptest::collection::vec(0..2048_u64, 0..256), start in 0..64_u64) {
        let (plan, id) = plan();
        let limits = Limits::default().memory(1 << 16).depth(20);
        let bytes: Vec<_> = words.iter().flat_map(|word| (4096 + word).to_le_bytes()).collect();
        let mut once = PrivateMemory::of(1 << 20);
        if plan.copy(id, &Frame::of(&bytes), Frame::MESSAGE + 8 * start, &mut once, limits).is_ok() {
            prop_assert!(once.used() <= 1 << 16);
            let measured = |most| plan.measure(id, &Frame::of(&bytes), Frame::MESSAGE + 8 * start, most);
            prop_assert_eq!(measured(u64::MAX), once.used() as u64);
            let least = plan.size(id) as u64;
            prop_assert!((least..=measured(u64::MAX)).contains(&measured(least)));
            prop_assert_eq!(measured(least) > least, measured(u64::MAX) > least);
            let mut twice = PrivateMemory::of(1 << 20);
            plan.copy(id, &Frame::of(once.as_bytes()), Frame::MESSAGE, &mut twice, limits).unwrap();
            prop_assert_eq!(once.as_bytes(), twice.as_bytes());
            plan.encode(id, &once, Frame::MESSAGE, Limits::default(), &mut Encoded::new()).unwrap();
        }
    }
}
