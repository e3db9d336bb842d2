//! The health of services, as the document
//! [GRPC Health Checking Protocol](https://github.com/grpc/grpc/blob/master/doc/health-checking.md) has it.

use crate::destinations::services::Services;
use crate::doors::grpc::formats::status::Status;
use crate::failures::code::Code;
use prost::Message;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FieldDescriptorProto,
    FileDescriptorProto, MethodDescriptorProto, ServiceDescriptorProto,
};

/// The service.
pub(super) const SERVICE: &str = "grpc.health.v1.Health";

/// The method that is answered. `Watch` has a stream, and is not.
pub(super) const METHOD: &str = "Check";

#[derive(Clone, PartialEq, Message)]
struct Question {
    #[prost(string, tag = "1")]
    service: String,
}

#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(int32, tag = "1")]
    status: i32,
}

/// The status of a service that takes calls.
const SERVING: i32 = 1;

/// Answers an encoded question: a service takes calls while an application of the machine serves it, and the daemon does always.
///
/// # Errors
/// Fails for what is no question, and for a service that nobody serves.
pub(super) fn answer(question: &[u8], services: &Services) -> Result<Vec<u8>, Status> {
    let question = Question::decode(question).map_err(|error| {
        Status::new(Code::InvalidArgument, &format!("the question is malformed: {error}"))
    })?;
    if question.service.is_empty() || services.of_schema(&question.service).is_some() {
        return Ok(Answer { status: SERVING }.encode_to_vec());
    }
    Err(Status::new(Code::NotFound, &format!("no application serves {}", question.service)))
}

/// Returns the schema of the service, by which callers ask who know the daemon by reflection alone.
pub(super) fn schema() -> FileDescriptorProto {
    let name = |name: &str| Some(name.to_owned());
    let field = |named: &str, kind, of| FieldDescriptorProto {
        name: name(named),
        number: Some(1),
        label: Some(Label::Optional as i32),
        r#type: Some(kind as i32),
        type_name: of,
        ..Default::default()
    };
    let statuses = ["UNKNOWN", "SERVING", "NOT_SERVING", "SERVICE_UNKNOWN"];
    let status = EnumDescriptorProto {
        name: name("ServingStatus"),
        value: std::iter::zip(statuses, 0..)
            .map(|(named, number)| EnumValueDescriptorProto {
                name: name(named),
                number: Some(number),
                options: None,
            })
            .collect(),
        ..Default::default()
    };
    let of_status = Some(".grpc.health.v1.HealthCheckResponse.ServingStatus".to_owned());
    let question = DescriptorProto {
        name: name("HealthCheckRequest"),
        field: vec![field("service", Type::String, None)],
        ..Default::default()
    };
    let answer = DescriptorProto {
        name: name("HealthCheckResponse"),
        field: vec![field("status", Type::Enum, of_status)],
        enum_type: vec![status],
        ..Default::default()
    };
    let method = |named: &str, is_stream| MethodDescriptorProto {
        name: name(named),
        input_type: name(".grpc.health.v1.HealthCheckRequest"),
        output_type: name(".grpc.health.v1.HealthCheckResponse"),
        server_streaming: Some(is_stream),
        ..Default::default()
    };
    FileDescriptorProto {
        name: name("grpc/health/v1/health.proto"),
        package: name("grpc.health.v1"),
        syntax: name("proto3"),
        message_type: vec![question, answer],
        service: vec![ServiceDescriptorProto {
            name: name("Health"),
            method: vec![method(METHOD, false), method("Watch", true)],
            ..Default::default()
        }],
        ..Default::default()
    }
}
