//! The shape of types of a program, compared with a plan.

use crate::plan::{Element, Step, Told};
use crate::schema::Number;
use crate::{MessageId, Plan};
use std::any::TypeId;
use std::collections::HashSet;
use std::fmt;

/// The shape of a type of a program in memory, as far as a reader relies on it.
#[derive(Debug, Clone, Copy)]
pub enum Shape {
    /// So many bytes, which may have any values.
    Numbers(usize),
    /// A byte that is zero or one.
    Bool,
    /// A reference to text.
    Text,
    /// A reference to values of a type in a row.
    Row(Type),
    /// The address of a structure, or zero.
    Address(Type),
    /// A structure of this size with these parts.
    Structure(usize, &'static [Part]),
}

/// A part of a structure.
#[derive(Debug, Clone, Copy)]
pub struct Part {
    /// The name of the field in the program.
    pub name: &'static str,
    /// The place in the structure, in bytes from the beginning.
    pub at: usize,
    /// The type.
    pub of: Type,
}

/// A type of a program. Its shape is asked for, since types refer to each other.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    id: TypeId,
    shape: fn() -> Shape,
}

/// The reason why a type does not suit a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Misfit {
    part: Option<&'static str>,
}

impl Type {
    /// Makes the description of a type that has this shape.
    pub const fn of<T: 'static>(shape: fn() -> Shape) -> Self {
        Self { id: TypeId::of::<T>(), shape }
    }
}

impl Plan {
    /// Checks that a program may read messages as a type: that all parts of which not every value is one lie where the plan has such
    /// values, and that structures have the size of the plan's.
    ///
    /// # Errors
    /// Fails with the first part that is other than the plan has it.
    pub fn check(&self, message: MessageId, of: Type) -> Result<(), Misfit> {
        let (mut waiting, mut seen) = (vec![(message, of)], HashSet::new());
        while let Some((message, of)) = waiting.pop() {
            if !seen.insert((message, of.id)) {
                continue;
            }
            let Shape::Structure(size, parts) = (of.shape)() else { return Err(Misfit { part: None }) };
            if size != self.size(message) {
                return Err(Misfit { part: None });
            }
            for part in parts {
                let shape = (part.of.shape)();
                // A part that is no field tells which fields are there, or is no value.
                let step = self.steps(message).iter().find(|step| step.at as usize == part.at);
                let suits = match step {
                    Some(step) => self.suits(step, shape, &mut waiting),
                    None => matches!(shape, Shape::Numbers(_)),
                };
                if !suits {
                    return Err(Misfit { part: Some(part.name) });
                }
            }
        }
        Ok(())
    }

    /// Returns true if a program may read a field as this shape, and structures in it as the types that wait then.
    fn suits(&self, step: &Step, shape: Shape, waiting: &mut Vec<(MessageId, Type)>) -> bool {
        match (step.told, step.element, shape) {
            (_, _, Shape::Numbers(_)) => true,
            (Told::Count { .. }, element, Shape::Row(of)) => match (element, (of.shape)()) {
                (_, Shape::Numbers(size)) => size == self.stride(element),
                (Element::Number(Number::Bool), Shape::Bool) | (Element::Text, Shape::Text) => true,
                (Element::Bytes, Shape::Row(bytes)) => is_byte(bytes),
                (Element::Message(message), Shape::Structure(..)) => {
                    waiting.push((message, of));
                    true
                }
                _ => false,
            },
            (Told::Count { .. }, ..) => false,
            (_, Element::Number(Number::Bool), Shape::Bool) | (_, Element::Text, Shape::Text) => true,
            (_, Element::Bytes, Shape::Row(bytes)) => is_byte(bytes),
            (_, Element::Message(message), Shape::Address(of)) => {
                waiting.push((message, of));
                true
            }
            _ => false,
        }
    }
}

fn is_byte(of: Type) -> bool {
    matches!((of.shape)(), Shape::Numbers(1))
}

impl fmt::Display for Misfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.part {
            Some(part) => write!(f, "the field `{part}` is none of the schema's"),
            None => f.write_str("it is no structure of the size of the schema's"),
        }
    }
}

impl std::error::Error for Misfit {}

#[cfg(test)]
mod tests;
