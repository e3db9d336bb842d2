//! A service whose messages are encoded by protobuf.

use bertha_chunnels::rpc::{Codec, Method};
use bertha_chunnels::serialize::Anywhere;
use bertha_managed::Policies;
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
};

/// The method of the service, which takes a name and returns a number.
pub(crate) const RESERVE: Method = Method::new("Hotel.reserve");

/// The format of protobuf. A `String` is a message with text in its first field, and a `u64` one with a number.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Protobuf;

impl<T: Message + Default> Codec<T> for Protobuf {
    type EncodeError = prost::EncodeError;
    type DecodeError = prost::DecodeError;
    type Key = Anywhere;

    const NAME: &'static str = "protobuf";

    fn encode(&self, message: &T, into: &mut [u8]) -> Result<Option<usize>, prost::EncodeError> {
        let length = message.encoded_len();
        let Some(mut room) = into.get_mut(..length) else { return Ok(None) };
        message.encode(&mut room)?;
        Ok(Some(length))
    }

    fn decode(&self, bytes: &[u8]) -> Result<(T, usize), prost::DecodeError> {
        Ok((T::decode(bytes)?, bytes.len()))
    }
}

/// Returns policies without engines for the calls of the service.
pub(crate) fn policies() -> Policies {
    Policies::new(&descriptors(), "hotel.Hotel").unwrap().codec(&Protobuf).caller("desk")
}

/// Returns the descriptor set of a service with the method `Reserve`.
pub(crate) fn descriptors() -> Vec<u8> {
    let message = |name: &str, field: &str, kind: Type| DescriptorProto {
        name: Some(name.into()),
        field: vec![FieldDescriptorProto {
            name: Some(field.into()),
            number: Some(1),
            label: Some(Label::Optional as i32),
            r#type: Some(kind as i32),
            ..Default::default()
        }],
        ..Default::default()
    };
    let method = MethodDescriptorProto {
        name: Some("Reserve".into()),
        input_type: Some(".hotel.Request".into()),
        output_type: Some(".hotel.Room".into()),
        ..Default::default()
    };
    let service =
        ServiceDescriptorProto { name: Some("Hotel".into()), method: vec![method], ..Default::default() };
    let file = FileDescriptorProto {
        name: Some("hotel.proto".into()),
        package: Some("hotel".into()),
        syntax: Some("proto3".into()),
        message_type: vec![
            message("Request", "customer", Type::String),
            message("Room", "number", Type::Uint64),
        ],
        service: vec![service],
        ..Default::default()
    };
    FileDescriptorSet { file: vec![file] }.encode_to_vec()
}
