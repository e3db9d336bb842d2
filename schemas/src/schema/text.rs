//! The canonical form: a line for each part of a schema, in order.

use super::collect::Enum;
use super::{Field, Kind, Message, Method, Number, Presence};

/// Returns the lines. Each begins with the kind of a part, its name, and the number or name of a part in there, and no two begin alike.
pub(super) fn lines(methods: &[Method], messages: &[Message], enums: &[Enum]) -> Vec<String> {
    let mut lines = Vec::new();
    for described in enums {
        for (number, name) in &described.values {
            lines.push(format!("enum {} {number:011} {name}", described.name));
        }
    }
    for message in messages {
        // A message without fields has a line, too.
        lines.push(format!("message {}", message.name));
        lines.extend(message.fields.iter().map(|field| line_of_field(message, field, messages)));
    }
    lines.extend(methods.iter().map(line_of_method));
    lines.sort_unstable();
    lines
}

fn line_of_method(method: &Method) -> String {
    let Method { service, name, request, response, streams_requests, streams_responses } = method;
    let stream = |streams: &bool| if *streams { "stream " } else { "" };
    format!(
        "method {service} {name} {}.{request} returns {}.{response}",
        stream(streams_requests),
        stream(streams_responses)
    )
}

fn line_of_field(message: &Message, field: &Field, messages: &[Message]) -> String {
    let Field { number, name, kind, presence } = field;
    // All digits, so that lines of text are in the order of numbers.
    format!(
        "field {} {number:09} {name} {}{}",
        message.name,
        presence_of(message, *presence),
        kind_of(kind, messages)
    )
}

fn presence_of(message: &Message, presence: Presence) -> String {
    match presence {
        Presence::Implicit => String::new(),
        Presence::Optional => "optional ".into(),
        Presence::Choice(choice) => {
            let name = message.choices.get(choice).map_or("", String::as_str);
            format!("oneof {name} ")
        }
        Presence::Repeated { is_packed: true } => "packed ".into(),
        Presence::Repeated { is_packed: false } => "repeated ".into(),
    }
}

/// Names of types begin with a dot, so that no type has the name of a number.
fn kind_of(kind: &Kind, messages: &[Message]) -> String {
    match kind {
        Kind::Number(number) => name_of(*number).into(),
        Kind::Enum(name) => format!(".{name}"),
        Kind::Text => "string".into(),
        Kind::Bytes => "bytes".into(),
        Kind::Message(message) => {
            messages.get(*message).map_or_else(String::new, |message| format!(".{}", message.name))
        }
    }
}

fn name_of(number: Number) -> &'static str {
    match number {
        Number::Bool => "bool",
        Number::Int32 => "int32",
        Number::Int64 => "int64",
        Number::Uint32 => "uint32",
        Number::Uint64 => "uint64",
        Number::Sint32 => "sint32",
        Number::Sint64 => "sint64",
        Number::Fixed32 => "fixed32",
        Number::Fixed64 => "fixed64",
        Number::Sfixed32 => "sfixed32",
        Number::Sfixed64 => "sfixed64",
        Number::Float => "float",
        Number::Double => "double",
    }
}
