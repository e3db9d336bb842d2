//! The shape of a field in memory.

use bertha_schemas::Told;
use prost_types::FieldDescriptorProto;
use prost_types::field_descriptor_proto::Type;

/// The shape of a field in memory. Types and expressions are code.
#[derive(Debug)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    /// Number of bytes in the structure.
    pub(crate) size: usize,
    /// The type in the structure.
    pub(crate) stored: String,
    /// The expression of the default.
    pub(crate) default: String,
    /// The type by which a value is read.
    pub(crate) lent: String,
}

/// The kind of a field's memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A number or an enumeration.
    Number,
    /// Text, bytes or repeated values.
    Row,
    Message,
}

impl Shape {
    /// Returns the shape of a field whose message or enumeration, if its type is one, is at this path.
    pub(crate) fn of(field: &FieldDescriptorProto, told: Told, path: String) -> Self {
        let (name, size, zero) = match (told, field.r#type()) {
            (Told::Count { .. }, Type::Message) => {
                return Self::row(&format!("Vec<{path}>"), &format!("[{path}]"));
            }
            (Told::Count { .. }, _) => {
                let element = Self::of(field, Told::Value, path).stored;
                return Self::row(&format!("Vec<{element}>"), &format!("[{element}]"));
            }
            (_, Type::String) => return Self::row("String", "str"),
            (_, Type::Bytes) => return Self::row("Vec<u8>", "[u8]"),
            // The schema has no groups.
            (_, Type::Message | Type::Group) => return Self::message(&path),
            (_, Type::Enum) => (path.as_str(), 4, format!("{path}(0)")),
            (_, Type::Bool) => ("bool", 1, "false".into()),
            (_, Type::Int32 | Type::Sint32 | Type::Sfixed32) => ("i32", 4, "0".into()),
            (_, Type::Int64 | Type::Sint64 | Type::Sfixed64) => ("i64", 8, "0".into()),
            (_, Type::Uint32 | Type::Fixed32) => ("u32", 4, "0".into()),
            (_, Type::Uint64 | Type::Fixed64) => ("u64", 8, "0".into()),
            (_, Type::Float) => ("f32", 4, "0.0".into()),
            (_, Type::Double) => ("f64", 8, "0.0".into()),
        };
        Self { kind: Kind::Number, size, stored: name.into(), default: zero, lent: name.into() }
    }

    fn row(of: &str, lent: &str) -> Self {
        let default = format!("heap::{}::new_in(heap)", of.split('<').next().unwrap_or_default());
        Self { kind: Kind::Row, size: 16, stored: format!("heap::{of}"), default, lent: format!("&{lent}") }
    }

    fn message(path: &str) -> Self {
        let (stored, lent) = (format!("Option<heap::Box<{path}>>"), format!("&{path}"));
        Self { kind: Kind::Message, size: 8, stored, default: "None".into(), lent }
    }
}
