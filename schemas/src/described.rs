//! Descriptor sets for tests.

use crate::Schema;
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto, OneofDescriptorProto,
    ServiceDescriptorProto,
};

/// A file of the package `test` with an enumeration `Colour`, and with a service whose method takes and returns the first message.
pub(crate) fn file(messages: Vec<DescriptorProto>) -> FileDescriptorProto {
    let first = messages.first().map(|message| format!(".test.{}", message.name()));
    let method = MethodDescriptorProto {
        name: Some("Do".into()),
        input_type: first.clone(),
        output_type: first,
        ..Default::default()
    };
    let service =
        ServiceDescriptorProto { name: Some("Doer".into()), method: vec![method], ..Default::default() };
    let colour = |(number, name): (i32, &str)| EnumValueDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        ..Default::default()
    };
    let colours = EnumDescriptorProto {
        name: Some("Colour".into()),
        value: [(0, "NONE"), (1, "RED"), (-7, "BLUE")].map(colour).into(),
        ..Default::default()
    };
    FileDescriptorProto {
        name: Some("test.proto".into()),
        package: Some("test".into()),
        syntax: Some("proto3".into()),
        message_type: messages,
        enum_type: vec![colours],
        service: vec![service],
        ..Default::default()
    }
}

pub(crate) fn set(file: FileDescriptorProto) -> Vec<u8> {
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}

pub(crate) fn message(name: &str, field: Vec<FieldDescriptorProto>) -> DescriptorProto {
    DescriptorProto { name: Some(name.into()), field, ..Default::default() }
}

pub(crate) fn field(number: i32, name: &str, described: Type) -> FieldDescriptorProto {
    let type_name = match described {
        Type::Enum => Some(".test.Colour".into()),
        _ => None,
    };
    FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(Label::Optional as i32),
        r#type: Some(described as i32),
        type_name,
        ..Default::default()
    }
}

/// A field of a message of the file.
pub(crate) fn of_message(number: i32, name: &str, message: &str) -> FieldDescriptorProto {
    FieldDescriptorProto { type_name: Some(format!(".test.{message}")), ..field(number, name, Type::Message) }
}

pub(crate) fn repeated(field: FieldDescriptorProto) -> FieldDescriptorProto {
    FieldDescriptorProto { label: Some(Label::Repeated as i32), ..field }
}

/// Adds a choice with these fields.
pub(crate) fn with_choice(
    mut message: DescriptorProto,
    fields: Vec<FieldDescriptorProto>,
) -> DescriptorProto {
    let choice = message.oneof_decl.len() as i32;
    let name = Some(format!("choice_{choice}"));
    message.oneof_decl.push(OneofDescriptorProto { name, ..Default::default() });
    let fields = fields.into_iter().map(|field| FieldDescriptorProto { oneof_index: Some(choice), ..field });
    message.field.extend(fields);
    message
}

/// Adds an `optional` field, whose choice stands behind all others.
pub(crate) fn with_optional(message: DescriptorProto, field: FieldDescriptorProto) -> DescriptorProto {
    with_choice(message, vec![FieldDescriptorProto { proto3_optional: Some(true), ..field }])
}

pub(crate) fn schema(messages: Vec<DescriptorProto>) -> Schema {
    Schema::read(&set(file(messages))).unwrap()
}
