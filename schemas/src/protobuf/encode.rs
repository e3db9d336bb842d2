//! From memory to protobuf.
//!
//! The message is written from its end to its beginning: the length of a message in a message is known when it is written, and nothing of
//! the memory is read twice.

use super::{Encoded, Fault, Wire};
use crate::plan::{Element, REFERENCE, Step, Told};
use crate::reference::{Reference, word};
use crate::schema::Number;
use crate::{Limits, Memory, MessageId, Plan};

/// Number of bytes of repeated numbers that are read at a time.
const CHUNK: usize = 512;

impl Plan {
    /// Encodes the message whose structure lies at this address, into the place of what `into` held before.
    ///
    /// # Errors
    /// Fails with what is wrong in memory, and with the limit that the message exceeds; then `into` is empty.
    ///
    /// # Panics
    /// May panic if the message is of another plan.
    pub fn encode(
        &self,
        message: MessageId,
        memory: &impl Memory,
        at: u64,
        limits: Limits,
        into: &mut Encoded,
    ) -> Result<(), Fault> {
        #[cfg(feature = "walks")]
        crate::walks::count();
        into.clear(limits.encoded);
        let mut encoder = Encoder { plan: self, memory, limits, left: limits.memory, out: into };
        let encoded = encoder.message(message, at, limits.levels());
        if encoded.is_err() {
            into.clear(limits.encoded);
        }
        encoded
    }
}

struct Encoder<'a, M> {
    plan: &'a Plan,
    memory: &'a M,
    limits: Limits,
    /// Number of bytes that may still be read.
    left: usize,
    out: &'a mut Encoded,
}

impl<M: Memory> Encoder<'_, M> {
    fn message(&mut self, message: MessageId, at: u64, depth: u32) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Deep(self.limits.depth))?;
        let plan = self.plan;
        let size = plan.size(message);
        self.spend(size)?;
        // The structure is private from here on.
        let base = self.out.structures.len();
        self.out.structures.resize(base + size, 0);
        self.memory.read(at, &mut self.out.structures[base..])?;
        for step in plan.steps(message).iter().rev() {
            self.field(step, base, depth)?;
        }
        self.out.structures.truncate(base);
        Ok(())
    }

    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes).ok_or(Fault::Large(self.limits.memory))?;
        Ok(())
    }

    /// Returns bytes of the structure that begins at `base`.
    #[inline]
    fn stored(&self, base: usize, at: u32, len: u32) -> &[u8] {
        &self.out.structures[base + at as usize..][..len as usize]
    }

    fn field(&mut self, step: &Step, base: usize, depth: u32) -> Result<(), Fault> {
        if let Told::Count { is_packed } = step.told {
            let reference = Reference::read(self.stored(base, step.at, REFERENCE));
            return self.repeated(step, reference, is_packed, depth);
        }
        if !step.is_there(|at, len| word(self.stored(base, at, len))) {
            return Ok(());
        }
        let is_told = step.told != Told::Value;
        match step.element {
            Element::Number(number) => {
                let value = word(self.stored(base, step.at, number.size()));
                if is_told || value != 0 { self.number(step, number, value) } else { Ok(()) }
            }
            Element::Text | Element::Bytes => {
                let reference = Reference::read(self.stored(base, step.at, REFERENCE));
                if is_told || reference.len > 0 { self.bytes(step, reference) } else { Ok(()) }
            }
            Element::Message(message) => match word(self.stored(base, step.at, 8)) {
                0 if is_told && depth == 0 => Err(Fault::Deep(self.limits.depth)),
                0 if is_told => self.enclosed(step, |_| Ok(())),
                0 => Ok(()),
                at => self.enclosed(step, |encoder| encoder.message(message, at, depth)),
            },
        }
    }

    #[inline]
    fn number(&mut self, step: &Step, number: Number, value: u64) -> Result<(), Fault> {
        self.out.number(number.wire(), number.encoded(value))?;
        self.out.key(step.number, number.wire())
    }

    /// Writes a field with its length.
    #[inline]
    fn enclosed(
        &mut self,
        step: &Step,
        content: impl FnOnce(&mut Self) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let end = self.out.len();
        content(self)?;
        self.out.varint((self.out.len() - end) as u64)?;
        self.out.key(step.number, Wire::Bytes)
    }

    fn bytes(&mut self, step: &Step, reference: Reference) -> Result<(), Fault> {
        let len = reference.len as usize;
        self.spend(len)?;
        let space = self.out.space(len)?;
        if len > 0 {
            self.memory.read(reference.at, space)?;
        }
        if step.element == Element::Text && std::str::from_utf8(space).is_err() {
            return Err(Fault::NotText(step.number));
        }
        self.out.varint(len as u64)?;
        self.out.key(step.number, Wire::Bytes)
    }

    fn repeated(&mut self, step: &Step, row: Reference, is_packed: bool, depth: u32) -> Result<(), Fault> {
        if row.len == 0 {
            return Ok(());
        }
        match step.element {
            Element::Number(number) if is_packed => {
                self.enclosed(step, |encoder| encoder.numbers(number, row, |_| Ok(())))
            }
            Element::Number(number) => self.numbers(number, row, |out| out.key(step.number, number.wire())),
            Element::Text | Element::Bytes => self.each(row, REFERENCE as usize, |encoder, at| {
                let mut reference = [0; REFERENCE as usize];
                encoder.spend(reference.len())?;
                encoder.memory.read(at, &mut reference)?;
                encoder.bytes(step, Reference::read(&reference))
            }),
            Element::Message(message) => self.each(row, self.plan.size(message), |encoder, at| {
                encoder.enclosed(step, |encoder| encoder.message(message, at, depth))
            }),
        }
    }

    /// Visits the addresses of elements from the last to the first.
    fn each(
        &mut self,
        row: Reference,
        size: usize,
        mut visit: impl FnMut(&mut Self, u64) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        for place in (0..u64::from(row.len)).rev() {
            // An address that wraps around is as wrong as any other.
            visit(self, row.at.wrapping_add(place * size as u64))?;
        }
        Ok(())
    }

    /// Writes numbers from the last to the first, each with what belongs in front of it.
    fn numbers(
        &mut self,
        number: Number,
        row: Reference,
        before: impl Fn(&mut Encoded) -> Result<(), Fault>,
    ) -> Result<(), Fault> {
        let size = number.size() as usize;
        let bytes = (row.len as usize).checked_mul(size).ok_or(Fault::Large(self.limits.memory))?;
        self.spend(bytes)?;
        let mut chunk = [0; CHUNK];
        let mut end = bytes;
        while end > 0 {
            // All sizes divide a chunk's.
            let begin = (end - 1) / CHUNK * CHUNK;
            let chunk = &mut chunk[..end - begin];
            self.memory.read(row.at.wrapping_add(begin as u64), chunk)?;
            for value in chunk.chunks_exact(size).rev() {
                self.out.number(number.wire(), number.encoded(word(value)))?;
                before(self.out)?;
            }
            end = begin;
        }
        Ok(())
    }
}
