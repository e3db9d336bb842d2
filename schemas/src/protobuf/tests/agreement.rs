//! Another interpreter of the same descriptors is the judge, over random schemas and messages.

use crate::described::{field, file, message, of_message, repeated, with_choice, with_optional};
use crate::{Encoded, Frame, Limits, Plan, PrivateMemory, Schema};
use proptest::prelude::*;
use prost::Message as _;
use prost_reflect::{
    DescriptorPool, DynamicMessage, FieldDescriptor, Kind, MapKey, MessageDescriptor, ReflectMessage, Value,
};
use prost_types::field_descriptor_proto::Type;
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet, MessageOptions};

/// Number of messages of a schema.
const MESSAGES: usize = 4;

const NUMBERS: [Type; 14] = [
    Type::Double,
    Type::Float,
    Type::Int64,
    Type::Uint64,
    Type::Int32,
    Type::Fixed64,
    Type::Fixed32,
    Type::Bool,
    Type::Uint32,
    Type::Enum,
    Type::Sfixed32,
    Type::Sfixed64,
    Type::Sint32,
    Type::Sint64,
];

/// Choices from bytes that are drawn at random; zeros behind their end.
struct Choices<'a>(std::slice::Iter<'a, u8>);

impl Choices<'_> {
    fn below(&mut self, end: usize) -> usize {
        usize::from(self.0.next().copied().unwrap_or_default()) % end
    }

    /// A number of few bytes or of many.
    fn word(&mut self) -> u64 {
        let len = self.below(9);
        (0..len).fold(0, |word, _| word << 8 | self.below(256) as u64)
    }

    fn text(&mut self) -> String {
        (0..self.below(6)).map(|_| ['a', 'Z', 'é', '𝄞'][self.below(4)]).collect()
    }
}

fn messages(choices: &mut Choices<'_>) -> Vec<DescriptorProto> {
    (0..MESSAGES).map(|place| described(choices, place)).collect()
}

fn described(choices: &mut Choices<'_>, place: usize) -> DescriptorProto {
    let mut described = message(&format!("M{place}"), vec![]);
    let mut number = 0;
    for _ in 0..choices.below(8) {
        number += 1 + [0, 0, 0, 1, 14, 2000][choices.below(6)];
        let field = one(choices, number);
        match choices.below(8) {
            0..3 => described.field.push(field),
            3 => described.field.push(repeated(field)),
            4 => {
                let options = prost_types::FieldOptions { packed: Some(false), ..Default::default() };
                described.field.push(FieldDescriptorProto { options: Some(options), ..repeated(field) });
            }
            5 => add_map(&mut described, choices, field),
            6 => {
                number += 1;
                let other = one(choices, number);
                described = with_choice(described, vec![field, other]);
            }
            _ => described.field.push(FieldDescriptorProto { proto3_optional: Some(true), ..field }),
        }
    }
    // The choices of optional fields stand behind the others.
    let (optional, others): (Vec<_>, Vec<_>) =
        described.field.drain(..).partition(FieldDescriptorProto::proto3_optional);
    described.field = others;
    optional.into_iter().fold(described, with_optional)
}

fn one(choices: &mut Choices<'_>, number: i32) -> FieldDescriptorProto {
    let name = format!("f{number}");
    match choices.below(6) {
        0 => field(number, &name, Type::String),
        1 => field(number, &name, Type::Bytes),
        2 => of_message(number, &name, &format!("M{}", choices.below(MESSAGES))),
        _ => field(number, &name, NUMBERS[choices.below(NUMBERS.len())]),
    }
}

/// Adds a map with values of this field's type.
fn add_map(described: &mut DescriptorProto, choices: &mut Choices<'_>, values: FieldDescriptorProto) {
    let key = [Type::String, Type::Int32, Type::Bool, Type::Fixed64][choices.below(4)];
    let (number, entry) = (values.number(), format!("F{}Entry", values.number()));
    let value = FieldDescriptorProto { name: Some("value".into()), number: Some(2), ..values };
    let options = MessageOptions { map_entry: Some(true), ..Default::default() };
    let nested =
        DescriptorProto { options: Some(options), ..message(&entry, vec![field(1, "key", key), value]) };
    let map = of_message(number, &format!("f{number}"), &format!("{}.{entry}", described.name()));
    described.nested_type.push(nested);
    described.field.push(repeated(map));
}

/// Returns a message with at most `depth` levels of messages within, those of lists and of maps included: a type may hold itself.
fn filled(choices: &mut Choices<'_>, descriptor: MessageDescriptor, depth: usize) -> DynamicMessage {
    let mut message = DynamicMessage::new(descriptor.clone());
    for field in descriptor.fields() {
        let is_too_deep = depth == 0 && matches!(field.kind(), Kind::Message(_));
        if is_too_deep || choices.below(4) == 0 {
            continue;
        }
        let value = if field.is_map() {
            let entries = (0..choices.below(4)).map(|_| entry(choices, &field, depth));
            Value::Map(entries.collect())
        } else if field.is_list() {
            Value::List((0..choices.below(5)).map(|_| value(choices, &field.kind(), depth)).collect())
        } else {
            value(choices, &field.kind(), depth)
        };
        message.set_field(&field, value);
    }
    message
}

fn entry(choices: &mut Choices<'_>, field: &FieldDescriptor, depth: usize) -> (MapKey, Value) {
    let Kind::Message(entry) = field.kind() else { panic!("a map has entries") };
    let key = value(choices, &entry.map_entry_key_field().kind(), depth);
    (key.into_map_key().unwrap(), value(choices, &entry.map_entry_value_field().kind(), depth))
}

fn value(choices: &mut Choices<'_>, kind: &Kind, depth: usize) -> Value {
    match kind {
        // Such numbers are equal to themselves, and zero has a single sign.
        Kind::Double => Value::F64(choices.word() as f64 / 7.0),
        Kind::Float => Value::F32(choices.word() as f32 / 7.0),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 => Value::I32(choices.word() as i32),
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 => Value::I64(choices.word() as i64),
        Kind::Uint32 | Kind::Fixed32 => Value::U32(choices.word() as u32),
        Kind::Uint64 | Kind::Fixed64 => Value::U64(choices.word()),
        Kind::Bool => Value::Bool(choices.below(2) == 1),
        Kind::String => Value::String(choices.text()),
        Kind::Bytes => Value::Bytes(choices.text().into_bytes().into()),
        Kind::Enum(_) => Value::EnumNumber(choices.word() as i32),
        Kind::Message(inner) => Value::Message(filled(choices, inner.clone(), depth - 1)),
    }
}

/// Returns the message without its unknown fields, which the judge keeps.
fn known(message: &DynamicMessage) -> DynamicMessage {
    let mut kept = DynamicMessage::new(message.descriptor());
    for (field, value) in message.fields() {
        kept.set_field(&field, known_value(value));
    }
    kept
}

fn known_value(value: &Value) -> Value {
    match value {
        Value::Message(message) => Value::Message(known(message)),
        Value::List(values) => Value::List(values.iter().map(known_value).collect()),
        Value::Map(entries) => {
            Value::Map(entries.iter().map(|(key, value)| (key.clone(), known_value(value))).collect())
        }
        other => other.clone(),
    }
}

fn pool(messages: Vec<DescriptorProto>) -> (DescriptorPool, Vec<u8>) {
    let set = FileDescriptorSet { file: vec![file(messages)] };
    let bytes = set.encode_to_vec();
    (DescriptorPool::from_file_descriptor_set(set).unwrap(), bytes)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    /// A message, also one of a later schema whose fields are in part unknown here, is the same behind memory and a frame as before.
    #[test]
    fn random_messages_of_random_schemas_stay_what_they_are(
        shape in proptest::collection::vec(any::<u8>(), 0..200),
        content in proptest::collection::vec(any::<u8>(), 0..400),
        is_gone in proptest::collection::vec(proptest::bool::weighted(0.2), 32),
    ) {
        let later = messages(&mut Choices(shape.iter()));
        let mut here = later.clone();
        let mut is_gone = is_gone.iter().cycle();
        for message in &mut here {
            // A choice needs all of its fields.
            message.field.retain(|field| field.oneof_index.is_some() || !is_gone.next().unwrap());
        }
        let (later, _) = pool(later);
        let (here, set) = pool(here);
        let sent = filled(&mut Choices(content.iter()), later.get_message_by_name("test.M0").unwrap(), 4);
        let sent = sent.encode_to_vec();

        let plan = Plan::new(&Schema::read(&set).unwrap());
        let id = plan.message("test.M0").unwrap();
        let mut heap = PrivateMemory::of(1 << 24);
        let at = plan.decode(id, &sent, &mut heap, Limits::default()).unwrap();
        let mut frame = PrivateMemory::of(1 << 24);
        plan.copy(id, &heap, at, &mut frame, Limits::default()).unwrap();
        heap.clear();
        let at = plan.copy(id, &Frame::of(frame.as_bytes()), Frame::MESSAGE, &mut heap, Limits::default()).unwrap();
        prop_assert_eq!(heap.as_bytes(), frame.as_bytes());
        let mut again = Encoded::new();
        plan.encode(id, &heap, at, Limits::default(), &mut again).unwrap();

        let judged = here.get_message_by_name("test.M0").unwrap();
        let expected = known(&DynamicMessage::decode(judged.clone(), sent.as_slice()).unwrap());
        let found = DynamicMessage::decode(judged, again.as_bytes()).unwrap();
        prop_assert_eq!(found.unknown_fields().count(), 0);
        prop_assert_eq!(found, expected);
    }
}
