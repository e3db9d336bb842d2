//! Schemas of strangers, and messages of theirs.

use bertha_schemas::{Encoded, Frame, Limits, MessageId, Plan, PrivateMemory, Schema};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
};

/// Number of bytes that a message may take.
const ROOM: usize = 1 << 20;

/// Reads a schema from the bytes behind a length in four bytes, and decodes the bytes behind it as a message that a method takes; then the
/// message is encoded again, and both encodings stand for the same. The bytes and the decoded message are copied as frames, too.
pub fn submission(bytes: &[u8]) {
    let Some((len, behind)) = bytes.split_first_chunk::<4>() else { return };
    let (set, message) = behind.split_at((u32::from_be_bytes(*len) as usize).min(behind.len()));
    let Ok(schema) = Schema::read(set) else { return };
    assert_eq!(schema.difference(schema.lines()), None);
    let plan = Plan::new(&schema);
    for method in schema.methods() {
        let request = plan.message(&method.request).expect("a method reaches what it takes");
        let limits = Limits::default().encoded(ROOM).memory(ROOM);
        copied(&plan, request, message, limits);
        let mut memory = PrivateMemory::of(ROOM);
        let Ok(at) = plan.decode(request, message, &mut memory, limits) else { continue };
        assert!(memory.used() <= ROOM);
        let (mut once, mut twice) = (Encoded::new(), Encoded::new());
        // Structures of a decoded message can be larger than what the limit lets an encoder read.
        if plan.encode(request, &memory, at, limits, &mut once).is_err() {
            continue;
        }
        copied(&plan, request, memory.as_bytes(), limits);
        memory.clear();
        let at = plan.decode(request, once.as_bytes(), &mut memory, limits).expect("an encoder's message");
        plan.encode(request, &memory, at, limits, &mut twice).expect("a message as before");
        assert_eq!(once.as_bytes(), twice.as_bytes());
    }
}

/// Copies the bytes as a frame with a message, of which a copy is the same.
fn copied(plan: &Plan, message: MessageId, bytes: &[u8], limits: Limits) {
    let (mut once, mut twice) = (PrivateMemory::of(ROOM), PrivateMemory::of(ROOM));
    if plan.copy(message, &Frame::of(bytes), Frame::MESSAGE, &mut once, limits).is_err() {
        return;
    }
    let again = plan.copy(message, &Frame::of(once.as_bytes()), Frame::MESSAGE, &mut twice, limits);
    assert_eq!((again, once.as_bytes()), (Ok(Frame::MESSAGE), twice.as_bytes()));
}

/// Returns the schema of a method `Do`, which takes and returns a message with fields of all kinds.
pub fn good_schema() -> Vec<u8> {
    let kinds =
        [Type::String, Type::Bytes, Type::Message, Type::Sint64, Type::Double, Type::Bool, Type::Fixed32];
    let field = |number: i32, kind: Type, label: Label| FieldDescriptorProto {
        name: Some(format!("f{number}")),
        number: Some(number),
        label: Some(label as i32),
        r#type: Some(kind as i32),
        type_name: (kind == Type::Message).then(|| ".a.M".into()),
        ..Default::default()
    };
    let single = (1..).zip(kinds).map(|(number, kind)| field(number, kind, Label::Optional));
    let repeated = (11..).zip(kinds).map(|(number, kind)| field(number, kind, Label::Repeated));
    let message = DescriptorProto {
        name: Some("M".into()),
        field: single.chain(repeated).collect(),
        ..Default::default()
    };
    let method = MethodDescriptorProto {
        name: Some("Do".into()),
        input_type: Some(".a.M".into()),
        output_type: Some(".a.M".into()),
        ..Default::default()
    };
    let file = FileDescriptorProto {
        package: Some("a".into()),
        syntax: Some("proto3".into()),
        message_type: vec![message],
        service: vec![ServiceDescriptorProto {
            name: Some("S".into()),
            method: vec![method],
            ..Default::default()
        }],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

/// A message of that method, encoded.
pub const GOOD_MESSAGE: &[u8] = b"\x0a\x01x\x12\x02yz\x1a\x02\x20\x05\x20\x07\x29\0\0\0\0\0\0\xf0\x3f\x30\x01\x3d\x08\0\0\0\
    \x5a\x00\x5a\x01a\x62\x01b\x6a\x02\x30\x01\x72\x03\x01\x02\x03\x7a\x08\0\0\0\0\0\0\xf0\x3f\x82\x01\x02\x00\x01\
    \x8a\x01\x04\x09\0\0\0";

/// Returns that schema, and that message.
pub fn good_submission() -> Vec<u8> {
    let set = good_schema();
    let mut submission = (set.len() as u32).to_be_bytes().to_vec();
    submission.extend(set);
    submission.extend(GOOD_MESSAGE);
    submission
}
