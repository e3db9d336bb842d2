//! The services of the machine and the daemon's own health, as the document
//! [GRPC Server Reflection Protocol](https://github.com/grpc/grpc/blob/master/doc/server-reflection.md) tells of them.

use super::health;
use crate::destinations::services::Services;
use crate::doors::grpc::formats::status::Status;
use crate::failures::code::Code;
use prost::Message;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use std::collections::{BTreeSet, HashSet};

/// The service, in both of its versions, which have the same messages.
pub(super) const SERVICES: [&str; 2] =
    ["grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];

/// The method.
pub(super) const METHOD: &str = "ServerReflectionInfo";

/// A question.
#[derive(Clone, PartialEq, Message)]
pub(super) struct Question {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(oneof = "About", tags = "3, 4, 7")]
    about: Option<About>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum About {
    #[prost(string, tag = "3")]
    File(String),
    #[prost(string, tag = "4")]
    Symbol(String),
    #[prost(string, tag = "7")]
    Services(String),
}

/// The answer to a question.
#[derive(Clone, PartialEq, Message)]
struct Answer {
    #[prost(string, tag = "1")]
    host: String,
    #[prost(message, optional, tag = "2")]
    question: Option<Question>,
    #[prost(oneof = "Content", tags = "4, 6, 7")]
    content: Option<Content>,
}

#[derive(Clone, PartialEq, prost::Oneof)]
enum Content {
    #[prost(message, tag = "4")]
    Files(Files),
    #[prost(message, tag = "6")]
    Services(Names),
    #[prost(message, tag = "7")]
    Error(Fault),
}

#[derive(Clone, PartialEq, Message)]
struct Files {
    #[prost(bytes = "vec", repeated, tag = "1")]
    files: Vec<Vec<u8>>,
}

#[derive(Clone, PartialEq, Message)]
struct Names {
    #[prost(message, repeated, tag = "1")]
    names: Vec<Name>,
}

#[derive(Clone, PartialEq, Message)]
struct Name {
    #[prost(string, tag = "1")]
    name: String,
}

#[derive(Clone, PartialEq, Message)]
struct Fault {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    text: String,
}

/// The code of gRPC for what is not there.
const NOT_FOUND: i32 = 5;

/// Answers an encoded question.
///
/// # Errors
/// Fails for what is no question.
pub(super) fn answer(question: &[u8], services: &Services) -> Result<Vec<u8>, Status> {
    let question = Question::decode(question).map_err(|error| {
        Status::new(Code::InvalidArgument, &format!("the question is malformed: {error}"))
    })?;
    let mut schemas = vec![FileDescriptorSet { file: vec![health::schema()] }];
    schemas.extend(services.schemas());
    let content = match &question.about {
        Some(About::Services(_)) => Content::Services(names(&schemas)),
        Some(About::File(name)) => files(&schemas, |file| file.name() == name, name),
        Some(About::Symbol(symbol)) => files(&schemas, |file| defines(file, symbol), symbol),
        None => fault(Code::Unimplemented as i32, "extensions are not told of".into()),
    };
    let host = question.host.clone();
    Ok(Answer { host, question: Some(question), content: Some(content) }.encode_to_vec())
}

/// Returns the names of all services.
fn names(schemas: &[FileDescriptorSet]) -> Names {
    let files = schemas.iter().flat_map(|schema| &schema.file);
    let services = files.flat_map(|file| file.service.iter().map(|service| full(file, service.name())));
    let names: BTreeSet<_> = services.collect();
    Names { names: names.into_iter().map(|name| Name { name }).collect() }
}

/// Returns the first file that is meant, and those that it imports.
fn files(
    schemas: &[FileDescriptorSet],
    is_meant: impl Fn(&FileDescriptorProto) -> bool,
    name: &str,
) -> Content {
    for schema in schemas {
        let Some(meant) = schema.file.iter().find(|file| is_meant(file)) else { continue };
        let (mut wanted, mut known, mut files) = (vec![meant.name()], HashSet::new(), Vec::new());
        while let Some(name) = wanted.pop() {
            let file = schema.file.iter().find(|file| file.name() == name);
            if let (true, Some(file)) = (known.insert(name), file) {
                files.push(file.encode_to_vec());
                wanted.extend(file.dependency.iter().map(String::as_str));
            }
        }
        return Content::Files(Files { files });
    }
    fault(NOT_FOUND, format!("nothing is known of {name}"))
}

/// Returns true if a file defines a service, a method, a message or an enumeration of this full name.
fn defines(file: &FileDescriptorProto, symbol: &str) -> bool {
    let within = |name: &str| {
        let name = full(file, name);
        symbol.strip_prefix(&name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    };
    file.service.iter().any(|service| within(service.name()))
        || file.message_type.iter().any(|message| within(message.name()))
        || file.enum_type.iter().any(|enumeration| within(enumeration.name()))
}

fn full(file: &FileDescriptorProto, name: &str) -> String {
    format!("{}.{name}", file.package()).trim_start_matches('.').to_owned()
}

fn fault(code: i32, text: String) -> Content {
    Content::Error(Fault { code, text })
}
