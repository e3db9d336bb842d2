//! The health of services, as the document
//! [GRPC Health Checking Protocol](https://github.com/grpc/grpc/blob/master/doc/health-checking.md) has it.

use crate::grpc::status::{Code, Status};
use crate::services::Services;
use prost::Message;

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
