//! A field of a message, by its path.

use crate::plan::{Element, REFERENCE, Step, Told};
use crate::reference::{Reference, word};
use crate::schema::{Kind, Number};
use crate::{Fields, MessageId, Plan, PrivateMemory, Schema};

/// A field of a message, or of the messages in it: `customer.name`. A policy finds the path once, and then reads the field in every message.
///
/// # Example
/// ```no_run
/// use bertha_schemas::{Path, PrivateMemory, Value};
///
/// fn is_of(customer: &Path, request: &PrivateMemory, at: u64, name: &str) -> bool {
///     customer.any(request, at, |value| matches!(value, Value::Text(text) if text == name))
/// }
/// ```
#[derive(Debug, Clone)]
pub struct Path {
    steps: Vec<Step>,
    /// The number of bytes of each element, where a step leads to several.
    sizes: Vec<usize>,
}

/// A value of a field.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub enum Value<'a> {
    /// A text.
    Text(&'a str),
    /// Bytes.
    Bytes(&'a [u8]),
    /// A number with a sign, or a value of an enumeration.
    Signed(i64),
    /// A number without a sign.
    Unsigned(u64),
    /// A number with a fraction.
    Float(f64),
    /// True or false.
    Bool(bool),
}

impl Path {
    /// Finds a path in a schema by the names of its fields with dots between them, from a message of this full name. Returns `None` if
    /// there is no such field, or if it is a message.
    ///
    /// # Panics
    /// May panic if the plan is of another schema.
    pub fn find(schema: &Schema, plan: &Plan, message: &str, path: &str) -> Option<Self> {
        let mut within = schema.messages.iter().position(|known| known.name == message)?;
        let (mut steps, mut sizes) = (Vec::new(), Vec::new());
        let mut names = path.split('.').peekable();
        while let Some(name) = names.next() {
            let field = schema.messages[within].fields.iter().find(|field| field.name == name)?;
            let step = plan.step(MessageId(within as u32), field.number)?;
            match field.kind {
                Kind::Message(inner) if names.peek().is_some() => within = inner,
                Kind::Message(_) => return None,
                _ if names.peek().is_none() => {}
                _ => return None,
            }
            steps.push(step);
            sizes.push(plan.stride(step.element));
        }
        Some(Self { steps, sizes })
    }

    /// Returns true if the values of the field are numbers with a fraction.
    pub fn is_float(&self) -> bool {
        let element = self.steps.last().map(|step| step.element);
        matches!(element, Some(Element::Number(Number::Float | Number::Double)))
    }

    /// Returns true if a value of the field can have this decimal notation, or be this text: numbers with a fraction have none, other numbers
    /// one without needless digits, and texts and bytes any.
    pub fn can_be(&self, text: &str) -> bool {
        match self.steps.last().map(|step| step.element) {
            Some(Element::Number(Number::Float | Number::Double)) | None => false,
            Some(Element::Number(Number::Bool)) => matches!(text, "true" | "false"),
            Some(Element::Number(_)) => is_whole(text),
            Some(_) => true,
        }
    }

    /// Returns true if a value of the field in the message at this address is as asked for. A field that repeats, or lies in messages that
    /// repeat, has many values, and one that is told to be absent has none. A map has the values of each entry, also of one whose key comes
    /// again.
    ///
    /// The message is a [copy](Plan::copy), or [decoded](Plan::decode).
    ///
    /// # Panics
    /// May panic if there is no such message at the address.
    pub fn any(
        &self,
        memory: &PrivateMemory,
        at: u64,
        mut is_asked_for: impl FnMut(Value<'_>) -> bool,
    ) -> bool {
        self.visit(0, memory, at, &mut is_asked_for)
    }

    fn visit(
        &self,
        depth: usize,
        memory: &PrivateMemory,
        structure: u64,
        is_asked_for: &mut impl FnMut(Value<'_>) -> bool,
    ) -> bool {
        let (step, size) = (&self.steps[depth], self.sizes[depth] as u64);
        let at = structure + u64::from(step.at);
        let told = |place: u32, len: u32| word(memory.slice(structure + u64::from(place), len as usize));
        let (first, count) = match step.told {
            Told::Count { .. } => {
                let row = Reference::read(memory.slice(at, REFERENCE as usize));
                (row.at, u64::from(row.len))
            }
            _ if step.is_there(told) => (at, 1),
            _ => return false,
        };
        (0..count).map(|place| first + place * size).any(|element| match step.element {
            Element::Message(_) => {
                let inner = match step.told {
                    Told::Count { .. } => element,
                    _ => word(memory.slice(element, 8)),
                };
                inner != 0 && self.visit(depth + 1, memory, inner, is_asked_for)
            }
            kind => is_asked_for(value(kind, memory, element)),
        })
    }
}

impl<'a> FromIterator<&'a Path> for Fields {
    fn from_iter<I: IntoIterator<Item = &'a Path>>(paths: I) -> Self {
        let mut fields = Self::default();
        for Path { steps, .. } in paths {
            fields.add(steps.iter().map(|step| step.number));
        }
        fields
    }
}

/// Returns true if the text is the decimal notation of a whole number, of any size.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_short = text == "0" || !digits.starts_with('0');
    is_short && !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit())
}

/// Returns the value that lies at this address.
fn value(element: Element, memory: &PrivateMemory, at: u64) -> Value<'_> {
    let number = match element {
        Element::Number(number) => number,
        _ => {
            let row = Reference::read(memory.slice(at, REFERENCE as usize));
            let bytes = if row.len == 0 { &[] } else { memory.slice(row.at, row.len as usize) };
            return match element {
                // Text was checked when it was copied.
                Element::Text => Value::Text(std::str::from_utf8(bytes).unwrap_or_default()),
                _ => Value::Bytes(bytes),
            };
        }
    };
    let word = word(memory.slice(at, number.size() as usize));
    match number {
        Number::Bool => Value::Bool(word != 0),
        Number::Int32 | Number::Sint32 | Number::Sfixed32 => Value::Signed((word as i32).into()),
        Number::Int64 | Number::Sint64 | Number::Sfixed64 => Value::Signed(word as i64),
        Number::Uint32 | Number::Fixed32 | Number::Uint64 | Number::Fixed64 => Value::Unsigned(word),
        Number::Float => Value::Float(f32::from_bits(word as u32).into()),
        Number::Double => Value::Float(f64::from_bits(word)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Limits;
    use crate::described::{field, message, of_message, repeated, schema, with_choice, with_optional};
    use prost_types::field_descriptor_proto::Type;

    /// Returns the schema of `test.Request`.
    fn requests() -> Schema {
        let customer =
            message("Customer", vec![field(1, "name", Type::String), of_message(2, "referrer", "Customer")]);
        let fields = vec![
            of_message(1, "customer", "Customer"),
            repeated(of_message(2, "guests", "Customer")),
            repeated(field(3, "rooms", Type::Sint32)),
            field(4, "is_new", Type::Bool),
            field(5, "token", Type::Bytes),
        ];
        let request = with_choice(message("Request", fields), vec![field(6, "code", Type::Uint64)]);
        let request = with_optional(request, field(7, "rate", Type::Float));
        schema(vec![request, customer])
    }

    /// Returns what a path of the message with this encoding leads to.
    fn found(path: &str, encoded: &[u8]) -> Option<Vec<String>> {
        let schema = requests();
        let plan = Plan::new(&schema);
        let path = Path::find(&schema, &plan, "test.Request", path)?;
        let mut memory = PrivateMemory::of(1 << 12);
        let request = plan.message("test.Request").unwrap();
        let at = plan.decode(request, encoded, &mut memory, Limits::default()).unwrap();
        let mut values = Vec::new();
        path.any(&memory, at, |value| {
            values.push(format!("{value:?}"));
            false
        });
        Some(values)
    }

    fn one(path: &str, encoded: &[u8], value: Value<'_>) {
        assert_eq!(found(path, encoded).unwrap(), [format!("{value:?}")], "{path}");
    }

    #[test]
    fn values_of_all_types_are_found() {
        let request = b"\x0a\x09\x0a\x01a\x12\x04\x0a\x02bc\x12\x00\x12\x03\x0a\x01g\x1a\x02\x01\x04\x20\x01\x2a\x01\xff\x30\x09\x3d\0\0\0\x40";
        one("customer.name", request, Value::Text("a"));
        one("customer.referrer.name", request, Value::Text("bc"));
        one("is_new", request, Value::Bool(true));
        one("token", request, Value::Bytes(&[0xff]));
        one("code", request, Value::Unsigned(9));
        one("rate", request, Value::Float(2.0));
        assert_eq!(found("guests.name", request).unwrap(), ["Text(\"\")", "Text(\"g\")"]);
        assert_eq!(found("rooms", request).unwrap(), ["Signed(-1)", "Signed(2)"]);
    }

    #[test]
    fn what_is_not_there_has_no_value() {
        for path in ["customer.name", "customer.referrer.name", "guests.name", "rooms", "code", "rate"] {
            assert!(found(path, b"").unwrap().is_empty(), "{path}");
        }
        one("is_new", b"", Value::Bool(false));
        one("token", b"", Value::Bytes(&[]));
        one("customer.name", b"\x0a\x00", Value::Text(""));
    }

    #[test]
    fn numbers_and_truth_values_can_be_their_own_notation_alone() {
        let schema = requests();
        let plan = Plan::new(&schema);
        let can_be =
            |path: &str, text: &str| Path::find(&schema, &plan, "test.Request", path).unwrap().can_be(text);
        for text in ["0", "7", "-12", "99999999999999999999999999"] {
            assert!(can_be("rooms", text) && can_be("code", text), "{text}");
            assert!(!can_be("rate", text) && !can_be("is_new", text), "{text}");
        }
        for text in ["", "-", "eve", "+1", "01", "-0", "1.5", "1 ", "true", "١"] {
            assert!(!can_be("rooms", text) && !can_be("code", text) && !can_be("rate", text), "{text}");
            assert!(can_be("customer.name", text) && can_be("token", text), "{text}");
        }
        assert!(can_be("is_new", "true") && can_be("is_new", "false") && !can_be("is_new", "yes"));
    }

    #[test]
    fn a_path_leads_from_message_to_message_to_a_value() {
        for path in [
            "",
            "customer",
            "guests",
            "name",
            "customer.age",
            "is_new.name",
            "customer.name.",
            ".customer.name",
        ] {
            assert_eq!(found(path, b""), None, "{path}");
        }
    }
}
