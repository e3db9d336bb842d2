//! The way from a schema to its plan.

use super::{Element, Head, MessageId, Plan, Step, Structure, Told};
use crate::schema::{Field, Kind, Message, Number, Presence, Schema};

/// Number of bytes of the words that tell which fields are there.
const WORD: u32 = 8;

/// Number of bytes of the number of a choice's field.
const CHOICE: u32 = 4;

pub(super) fn plan(schema: &Schema) -> Plan {
    let mut steps = Vec::new();
    let mut structures = Vec::new();
    let mut places = std::collections::HashMap::new();
    for (place, message) in (0..).zip(&schema.messages) {
        let first = steps.len() as u32;
        let (head, size) = lay_out(message, &mut steps);
        structures.push(Structure { size, head, steps: (first, steps.len() as u32) });
        places.insert(message.name.clone(), MessageId(place));
    }
    Plan { digest: schema.digest(), structures, steps, places }
}

/// Adds the steps of a message, and returns the head and the size of its structure. A schema's bounds keep places far below `u32::MAX`.
fn lay_out(message: &Message, steps: &mut Vec<Step>) -> (Head, u32) {
    let bits = message.fields.iter().filter(|field| field.presence == Presence::Optional).count() as u32;
    let choices = bits.div_ceil(u64::BITS) * WORD;
    let head = Head { bits, choices, end: choices + message.choices.len() as u32 * CHOICE };
    let mut end = head.end;
    let mut bit = 0;
    for field in &message.fields {
        let told = match field.presence {
            Presence::Implicit => Told::Value,
            Presence::Optional => {
                bit += 1;
                Told::Bit(bit - 1)
            }
            Presence::Choice(choice) => Told::Choice(choices + choice as u32 * CHOICE),
            Presence::Repeated { is_packed } => Told::Count { is_packed },
        };
        let element = element(field);
        let mut step = Step { number: field.number, at: end, element, told };
        step.at = end.next_multiple_of(step.size().min(WORD));
        end = step.at + step.size();
        steps.push(step);
    }
    // Even a message without fields has an address of its own.
    (head, end.max(1).next_multiple_of(WORD))
}

fn element(field: &Field) -> Element {
    match field.kind {
        Kind::Number(number) => Element::Number(number),
        // Enumerations are open: numbers without a name pass.
        Kind::Enum(_) => Element::Number(Number::Int32),
        Kind::Text => Element::Text,
        Kind::Bytes => Element::Bytes,
        Kind::Message(place) => Element::Message(MessageId(place as u32)),
    }
}
