//! A schema as flat tables, which the interpreters of [`protobuf`](crate::protobuf) run.

mod build;
mod step;

use crate::schema::{Digest, Schema};
use std::collections::HashMap;
pub use step::Told;
pub(crate) use step::{Element, REFERENCE, Step};

/// The way in which the messages of a schema lie in memory, and are encoded and decoded.
///
/// # Example
/// ```no_run
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use bertha_schemas::{Limits, Plan, Room, Schema};
///
/// fn receive(plan: &Plan, protobuf: &[u8], room: &mut impl Room) -> Result<u64, Box<dyn std::error::Error>> {
///     let request = plan.message("hotel.NearbyRequest").ok_or("the schema has no such message")?;
///     Ok(plan.decode(request, protobuf, room, Limits::default())?)
/// }
///
/// let plan = Plan::new(&Schema::read(&std::fs::read("hotel.pb")?)?);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Plan {
    digest: Digest,
    structures: Vec<Structure>,
    /// The steps of all messages.
    steps: Vec<Step>,
    places: HashMap<String, MessageId>,
}

/// A type of message of a [`Plan`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct MessageId(pub(crate) u32);

/// The way in which a type of message lies in memory.
#[derive(Debug, Clone, Copy)]
struct Structure {
    /// Number of bytes, a multiple of eight.
    size: u32,
    head: Head,
    /// The steps of the message, by the numbers of their fields: from the first to before the second.
    steps: (u32, u32),
}

/// The beginning of a structure, which tells which fields are there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Head {
    /// Number of bits, in words.
    pub(crate) bits: u32,
    /// The place behind the words, where the choices begin.
    pub(crate) choices: u32,
    /// The place behind the choices.
    pub(crate) end: u32,
}

impl Plan {
    /// Makes the plan of a schema.
    pub fn new(schema: &Schema) -> Self {
        build::plan(schema)
    }

    /// Returns the hash of the schema.
    pub fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the message of this full name, if a method reaches it.
    pub fn message(&self, name: &str) -> Option<MessageId> {
        self.places.get(name).copied()
    }

    /// Returns the size of a message's structure in bytes, a multiple of eight.
    ///
    /// # Panics
    /// Panics if the message is of another plan, and this plan has fewer.
    pub fn size(&self, message: MessageId) -> usize {
        self.structure(message).size as usize
    }

    /// Returns the number of bytes that each of repeated elements takes.
    #[inline]
    pub(crate) fn stride(&self, element: Element) -> usize {
        match element {
            Element::Message(message) => self.size(message),
            _ => element.size() as usize,
        }
    }

    /// Returns the place of a field in its message's structure, in bytes from the beginning.
    pub fn field(&self, message: MessageId, number: u32) -> Option<usize> {
        Some(self.step(message, number)?.at as usize)
    }

    /// Returns what tells in a message's structure that a field is there.
    pub fn told(&self, message: MessageId, number: u32) -> Option<Told> {
        Some(self.step(message, number)?.told)
    }

    /// Returns what is done for a field.
    pub(crate) fn step(&self, message: MessageId, number: u32) -> Option<Step> {
        let steps = self.steps(message);
        Some(steps[steps.binary_search_by_key(&number, |step| step.number).ok()?])
    }

    /// Returns what is at the beginning of a message's structure.
    #[inline]
    pub(crate) fn head(&self, message: MessageId) -> Head {
        self.structure(message).head
    }

    #[inline]
    fn structure(&self, message: MessageId) -> Structure {
        self.structures[message.0 as usize]
    }

    /// Returns the steps of a message, by the numbers of their fields.
    #[inline]
    pub(crate) fn steps(&self, message: MessageId) -> &[Step] {
        let (first, end) = self.structure(message).steps;
        &self.steps[first as usize..end as usize]
    }
}

#[cfg(test)]
mod tests;
