//! The size of a message in memory.

use crate::plan::{Element, REFERENCE, Step, Told};
use crate::reference::{Reference, word};
use crate::{Limits, Memory, MessageId, Plan};

impl Plan {
    /// Returns the number of bytes that a [copy](Self::copy) of the message takes whose structure lies at this address. Of a message of more
    /// than `most`, it is some number above `most`: what repeated fields hold is not looked at further. Neither is what lies outside of the
    /// memory, of which there is no copy.
    ///
    /// # Panics
    /// May panic if the message is of another plan.
    pub fn measure(&self, message: MessageId, memory: &impl Memory, at: u64, most: u64) -> u64 {
        let mut measure = Measure { plan: self, memory, most, total: 0 };
        measure.add(self.size(message) as u64);
        measure.structure(message, at, Limits::default().levels());
        measure.total
    }
}

struct Measure<'a, M> {
    plan: &'a Plan,
    memory: &'a M,
    most: u64,
    total: u64,
}

impl<M: Memory> Measure<'_, M> {
    /// Adds a reservation of so many bytes.
    fn add(&mut self, bytes: u64) {
        self.total = self.total.saturating_add(bytes.next_multiple_of(8));
    }

    /// Adds what a structure leads to: its own rows and messages first, since they cost nothing to look at.
    fn structure(&mut self, message: MessageId, at: u64, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else { return };
        let plan = self.plan;
        let there = |measure: &Self, step: &Step| {
            step.is_there(|place, len| measure.word(at + u64::from(place), len as usize))
        };
        for step in plan.steps(message) {
            if there(self, step) {
                self.add(self.own(step, at + u64::from(step.at)));
            }
        }
        for step in plan.steps(message) {
            if self.total <= self.most && there(self, step) {
                self.inner(step, at + u64::from(step.at), depth);
            }
        }
    }

    /// Returns the number of bytes to which a field leads, without those to which these lead.
    fn own(&self, step: &Step, at: u64) -> u64 {
        match (step.told, step.element) {
            (Told::Count { .. }, element) => self.row(at).1 * self.plan.stride(element) as u64,
            (_, Element::Number(_)) => 0,
            (_, Element::Text | Element::Bytes) => self.row(at).1,
            (told, Element::Message(message)) => match self.word(at, 8) {
                0 if told == Told::Value => 0,
                _ => self.plan.size(message) as u64,
            },
        }
    }

    /// Adds what the elements of a field lead to.
    fn inner(&mut self, step: &Step, at: u64, depth: u32) {
        match (step.told, step.element) {
            (Told::Count { .. }, element @ (Element::Text | Element::Bytes | Element::Message(_))) => {
                let ((row, len), size) = (self.row(at), self.plan.stride(element) as u64);
                for place in 0..len {
                    if self.total > self.most {
                        return;
                    }
                    let at = row.saturating_add(place * size);
                    match element {
                        Element::Message(message) => self.structure(message, at, depth),
                        _ => self.add(self.row(at).1),
                    }
                }
            }
            (_, Element::Message(message)) => match self.word(at, 8) {
                0 => {}
                at => self.structure(message, at, depth),
            },
            _ => {}
        }
    }

    /// Returns the address and the number of the elements to which a reference leads.
    fn row(&self, at: u64) -> (u64, u64) {
        let mut bytes = [0; REFERENCE as usize];
        if self.memory.read(at, &mut bytes).is_err() {
            return (0, 0);
        }
        let Reference { at, len, .. } = Reference::read(&bytes);
        (at, len.into())
    }

    /// Returns the number of up to eight bytes that lies at an address.
    fn word(&self, at: u64, len: usize) -> u64 {
        let mut bytes = [0; 8];
        match self.memory.read(at, &mut bytes[..len]) {
            Ok(()) => word(&bytes[..len]),
            Err(_) => 0,
        }
    }
}
