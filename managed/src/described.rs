//! A binding and its messages for tests.

use crate::{Binding, Contents, Copied, Kind, Message};
use bertha_schemas::{Fault, Fields, Limits, Plan, PrivateMemory, Schema};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, MethodDescriptorProto,
    ServiceDescriptorProto,
};
use std::sync::Arc;
use std::task::Waker;

/// The method whose request has fields.
pub(crate) const RESERVE: u32 = 1;

/// A service with the methods `Ping`, whose request is empty, and `Reserve`, whose request has a customer, guests, a room and a price.
pub(crate) fn binding() -> Binding {
    let field = |number: i32, name: &str, kind: Type, label: Label| FieldDescriptorProto {
        name: Some(name.into()),
        number: Some(number),
        label: Some(label as i32),
        r#type: Some(kind as i32),
        ..Default::default()
    };
    let fields = vec![
        field(1, "customer", Type::String, Label::Optional),
        field(2, "guests", Type::String, Label::Repeated),
        field(3, "room", Type::Sint32, Label::Optional),
        field(4, "price", Type::Double, Label::Optional),
    ];
    let message =
        |name: &str, field| DescriptorProto { name: Some(name.into()), field, ..Default::default() };
    let method = |name: &str, request: &str| MethodDescriptorProto {
        name: Some(name.into()),
        input_type: Some(request.into()),
        output_type: Some(".hotel.Empty".into()),
        ..Default::default()
    };
    let service = ServiceDescriptorProto {
        name: Some("Hotel".into()),
        method: vec![method("Ping", ".hotel.Empty"), method("Reserve", ".hotel.Request")],
        ..Default::default()
    };
    let file = FileDescriptorProto {
        name: Some("hotel.proto".into()),
        package: Some("hotel".into()),
        syntax: Some("proto3".into()),
        message_type: vec![message("Empty", vec![]), message("Request", fields)],
        service: vec![service],
        ..Default::default()
    };
    let schema = Schema::read(&FileDescriptorSet { file: vec![file] }.encode_to_vec()).unwrap();
    let plan = Plan::new(&schema);
    Binding {
        caller: "desk".into(),
        service: "hotel".into(),
        counts: Arc::default(),
        traffic: Arc::default(),
        waker: Waker::noop().clone(),
        schema: Arc::new(schema),
        plan: Arc::new(plan),
    }
}

/// A request without a structure.
pub(crate) fn request(call: u64) -> Message {
    Message {
        kind: Kind::Request,
        call,
        method: 0,
        bytes: 8,
        at: 0,
        trace: None,
        peer: None,
        content: None,
        copied: Copied::Whole,
    }
}

/// A message about a call that has begun.
pub(crate) fn about(call: u64, kind: Kind) -> Message {
    Message { kind, ..request(call) }
}

/// A heap that has the requests of all calls in protobuf, by their addresses.
#[derive(Debug, Default)]
pub(crate) struct Heap {
    pub(crate) encoded: Vec<Vec<u8>>,
    /// Number of copies.
    pub(crate) copies: usize,
}

impl Heap {
    /// Returns a request of a reservation with this encoding.
    pub(crate) fn reservation(&mut self, call: u64, encoded: &[u8]) -> Message {
        self.encoded.push(encoded.to_vec());
        Message { method: RESERVE, at: self.encoded.len() as u64, ..request(call) }
    }
}

impl Contents for Heap {
    fn copy(&mut self, request: &mut Message, _: Option<&Fields>) -> Result<(), Fault> {
        self.copies += 1;
        let Binding { plan, .. } = binding();
        let message = plan.message("hotel.Request").unwrap();
        let mut memory = Box::new(PrivateMemory::of(1 << 18));
        let encoded = &self.encoded[request.at as usize - 1];
        let at = plan.decode(message, encoded, &mut *memory, Limits::default())?;
        (request.content, request.at, request.copied) = (Some(memory), at, Copied::Whole);
        Ok(())
    }

    fn measure(&mut self, request: &Message, _: u32) -> u32 {
        request.bytes
    }
}
