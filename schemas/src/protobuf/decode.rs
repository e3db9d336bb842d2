//! From protobuf to memory.

use super::Fault;
use super::fields::{Fields, Packed, Value};
use crate::plan::{Element, REFERENCE, Step, Told};
use crate::reference::{Reference, word};
use crate::schema::Number;
use crate::{Limits, MessageId, Plan, Room};

/// Number of bytes that are moved at a time when repeated values get more room.
const CHUNK: usize = 256;

impl Plan {
    /// Decodes a message into room that is reserved for it, and returns the address of its structure.
    ///
    /// # Errors
    /// Fails with what is wrong in the encoded message, and with the limit that it exceeds; then reserved room has any content.
    ///
    /// # Panics
    /// May panic if the message is of another plan.
    pub fn decode(
        &self,
        message: MessageId,
        encoded: &[u8],
        room: &mut impl Room,
        limits: Limits,
    ) -> Result<u64, Fault> {
        #[cfg(feature = "walks")]
        crate::walks::count();
        if encoded.len() > limits.encoded.min(u32::MAX as usize) {
            return Err(Fault::Long(limits.encoded));
        }
        let mut decoder = Decoder { plan: self, room, limits, left: limits.memory };
        let at = decoder.reserve(self.size(message))?;
        decoder.message(message, at, encoded, limits.levels())?;
        Ok(at)
    }
}

struct Decoder<'a, R> {
    plan: &'a Plan,
    room: &'a mut R,
    limits: Limits,
    /// Number of bytes that may still be reserved.
    left: usize,
}

impl<R: Room> Decoder<'_, R> {
    fn reserve(&mut self, bytes: usize) -> Result<u64, Fault> {
        self.spend(bytes)?;
        Ok(self.room.reserve(bytes)?)
    }

    #[inline]
    fn spend(&mut self, bytes: usize) -> Result<(), Fault> {
        self.left = self.left.checked_sub(bytes).ok_or(Fault::Large(self.limits.memory))?;
        Ok(())
    }

    #[inline]
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.room.bytes(at, bytes.len()).copy_from_slice(bytes);
    }

    /// Decodes fields into a structure, which has what was decoded of the message before.
    fn message(&mut self, message: MessageId, at: u64, encoded: &[u8], depth: u32) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Deep(self.limits.depth))?;
        let plan = self.plan;
        let steps = plan.steps(message);
        let mut fields = Fields::of(encoded, depth);
        // Most encoders write fields in order.
        let mut likely = 0;
        while let Some((field, value)) = fields.next()? {
            let place = match steps.get(likely) {
                Some(step) if step.number == field => likely,
                _ => match steps.binary_search_by_key(&field, |step| step.number) {
                    Ok(place) => place,
                    Err(_) => continue,
                },
            };
            let step = &steps[place];
            likely = if matches!(step.told, Told::Count { .. }) { place } else { place + 1 };
            match (step.told, step.element, value) {
                (Told::Count { .. }, Element::Number(number), Value::Bytes(row)) => {
                    self.packed(step, number, at, row)?;
                }
                (Told::Count { .. }, _, _) => self.repeated(step, at, value, &fields, depth)?,
                _ => self.single(message, step, at, value, depth)?,
            }
        }
        Ok(())
    }

    fn single(
        &mut self,
        outer: MessageId,
        step: &Step,
        structure: u64,
        value: Value<'_>,
        depth: u32,
    ) -> Result<(), Fault> {
        self.tell(outer, step, structure);
        let at = structure + u64::from(step.at);
        if let (Element::Message(message), Value::Bytes(encoded)) = (step.element, value) {
            let before = word(self.room.bytes(at, 8));
            let inner = if before == 0 { self.reserve(self.plan.size(message))? } else { before };
            self.write(at, &inner.to_le_bytes());
            return self.message(message, inner, encoded, depth);
        }
        self.value(step, at, value)
    }

    /// Tells the structure that the field is there. Another field of its choice is not there any more.
    #[inline]
    fn tell(&mut self, message: MessageId, step: &Step, structure: u64) {
        match step.told {
            Told::Bit(bit) => self.room.bytes(structure + u64::from(bit / 8), 1)[0] |= 1 << (bit % 8),
            Told::Choice(choice) => {
                let at = structure + u64::from(choice);
                let before = word(self.room.bytes(at, 4)) as u32;
                if before != step.number {
                    self.write(at, &step.number.to_le_bytes());
                    if let Some(before) = self.plan.step(message, before) {
                        self.room.bytes(structure + u64::from(before.at), before.size() as usize).fill(0);
                    }
                }
            }
            Told::Value | Told::Count { .. } => {}
        }
    }

    /// Writes a value that is no message.
    fn value(&mut self, step: &Step, at: u64, value: Value<'_>) -> Result<(), Fault> {
        match (step.element, value) {
            (Element::Number(number), Value::Number(wire, value)) if wire == number.wire() => {
                let bytes = number.decoded(value).to_le_bytes();
                self.write(at, &bytes[..number.size() as usize]);
            }
            (Element::Text, Value::Bytes(text)) if std::str::from_utf8(text).is_err() => {
                return Err(Fault::NotText(step.number));
            }
            (Element::Text | Element::Bytes, Value::Bytes(bytes)) => {
                let reference = self.keep(bytes)?;
                self.write(at, &reference.to_bytes());
            }
            _ => return Err(Fault::OtherType(step.number)),
        }
        Ok(())
    }

    /// Copies bytes into room of their own.
    fn keep(&mut self, bytes: &[u8]) -> Result<Reference, Fault> {
        if bytes.is_empty() {
            return Ok(Reference::default());
        }
        self.spend(bytes.len())?;
        let at = self.room.put(bytes)?;
        // An encoded message has at most as many bytes.
        let len = bytes.len() as u32;
        Ok(Reference { at, len, capacity: len })
    }

    fn packed(&mut self, step: &Step, number: Number, structure: u64, row: &[u8]) -> Result<(), Fault> {
        let size = number.size() as usize;
        let mut numbers = Packed::of(row, number.wire());
        let place = structure + u64::from(step.at);
        let (mut reference, mut at) = self.extend(place, size, numbers.count())?;
        while let Some(value) = numbers.next()? {
            self.write(at, &number.decoded(value).to_le_bytes()[..size]);
            // The last element may end at the last address.
            at = at.wrapping_add(size as u64);
            reference.len += 1;
        }
        self.write(place, &reference.to_bytes());
        Ok(())
    }

    /// Adds a value to those of a repeated field; `behind` has the fields that follow.
    fn repeated(
        &mut self,
        step: &Step,
        structure: u64,
        value: Value<'_>,
        behind: &Fields<'_>,
        depth: u32,
    ) -> Result<(), Fault> {
        let place = structure + u64::from(step.at);
        let size = self.plan.stride(step.element);
        let mut reference = Reference::read(self.room.bytes(place, REFERENCE as usize));
        let mut at = reference.at + u64::from(reference.len) * size as u64;
        if reference.len == reference.capacity {
            // The values that follow at once get room together.
            (reference, at) = self.extend(place, size, 1 + behind.run(step.number))?;
        }
        match (step.element, value) {
            (Element::Message(message), Value::Bytes(encoded)) => {
                self.message(message, at, encoded, depth)?
            }
            _ => self.value(step, at, value)?,
        }
        reference.len += 1;
        self.write(place, &reference.to_bytes());
        Ok(())
    }

    /// Makes room for more elements behind those of a reference. Returns the reference, and the address behind its last element.
    ///
    /// Elements that are moved get twice the room, so that a message whose elements come one by one takes no more than twice the time.
    fn extend(&mut self, place: u64, size: usize, more: usize) -> Result<(Reference, u64), Fault> {
        let reference = Reference::read(self.room.bytes(place, REFERENCE as usize));
        let Reference { at: before, len, capacity } = reference;
        let used = u64::from(len) * size as u64;
        let needed = len as usize + more;
        if needed <= capacity as usize {
            return Ok((reference, before + used));
        }
        let capacity = needed.max(2 * capacity as usize);
        let bytes = capacity.checked_mul(size).ok_or(Fault::Large(self.limits.memory))?;
        let at = self.reserve(bytes)?;
        let mut chunk = [0; CHUNK];
        for begin in (0..used).step_by(CHUNK) {
            let chunk = &mut chunk[..CHUNK.min((used - begin) as usize)];
            chunk.copy_from_slice(self.room.bytes(before + begin, chunk.len()));
            self.write(at + begin, chunk);
        }
        let capacity = u32::try_from(capacity).map_err(|_| Fault::Large(self.limits.memory))?;
        Ok((Reference { at, len, capacity }, at + used))
    }
}
