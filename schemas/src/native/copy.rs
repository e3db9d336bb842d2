//! The way of a message from memory to memory.

use crate::plan::{Element, REFERENCE, Step, Told};
use crate::reference::{Reference, word};
use crate::schema::Number;
use crate::{Fault, Fields, Limits, Memory, MessageId, Plan, Room};

impl Plan {
    /// Copies the message whose structure lies at this address into room that is reserved for it, and returns the address of the copy's
    /// structure.
    ///
    /// The copy is what a decoded message is: text is UTF-8, a `bool` is zero or one, a message whose presence is told has a structure, and
    /// each address is one of the room. What is not there, and what lies between fields, is zero. What the memory shares among several
    /// fields is copied for each. Rows of text, of bytes and of numbers that the room [leaves](Room::leave) where they are, are not looked at.
    ///
    /// # Errors
    /// Fails with what is wrong in memory, and with the limit that the message exceeds; then reserved room has any content.
    ///
    /// # Panics
    /// May panic if the message is of another plan.
    pub fn copy(
        &self,
        message: MessageId,
        memory: &impl Memory,
        at: u64,
        room: &mut impl Room,
        limits: Limits,
    ) -> Result<u64, Fault> {
        #[cfg(feature = "walks")]
        crate::walks::count();
        let mut copier = Copier { plan: self, memory, room, limits, left: limits.memory };
        copier.message(message, at, limits.levels(), None)
    }

    /// Copies the structure of the message at this address, with these fields and the messages that lead to them, and returns the address of
    /// the copy's structure. All other addresses in the copy are those of the memory: [`Partly`](crate::Partly) reads both, and
    /// [`Path::any`](crate::Path::any) reads these fields alone.
    ///
    /// # Errors
    /// The errors of [`copy`](Self::copy), as far as they are about these fields.
    ///
    /// # Panics
    /// May panic if the message or a field is of another plan.
    pub fn copy_fields(
        &self,
        message: MessageId,
        fields: &Fields,
        memory: &impl Memory,
        at: u64,
        room: &mut impl Room,
        limits: Limits,
    ) -> Result<u64, Fault> {
        #[cfg(feature = "walks")]
        crate::walks::count();
        let mut copier = Copier { plan: self, memory, room, limits, left: limits.memory };
        copier.message(message, at, limits.levels(), Some(fields))
    }
}

struct Copier<'a, M, R> {
    plan: &'a Plan,
    memory: &'a M,
    room: &'a mut R,
    limits: Limits,
    /// Number of bytes that may still be copied.
    left: usize,
}

impl<M: Memory, R: Room> Copier<'_, M, R> {
    fn reserve(&mut self, bytes: usize) -> Result<u64, Fault> {
        self.left = self.left.checked_sub(bytes).ok_or(Fault::Large(self.limits.memory))?;
        Ok(self.room.reserve(bytes)?)
    }

    /// Copies so many bytes as they are, and returns the address of the copy.
    fn bytes(&mut self, from: u64, len: usize) -> Result<u64, Fault> {
        let to = self.reserve(len)?;
        self.memory.read(from, self.room.bytes(to, len))?;
        Ok(to)
    }

    /// Copies a message: of its fields these, or all.
    fn message(
        &mut self,
        message: MessageId,
        from: u64,
        depth: u32,
        fields: Option<&Fields>,
    ) -> Result<u64, Fault> {
        let to = self.bytes(from, self.plan.size(message))?;
        self.structure(message, to, depth, fields)?;
        Ok(to)
    }

    /// Makes a structure whole that was copied as it was. From here on nothing but the copy is read.
    fn structure(
        &mut self,
        message: MessageId,
        at: u64,
        depth: u32,
        fields: Option<&Fields>,
    ) -> Result<(), Fault> {
        let depth = depth.checked_sub(1).ok_or(Fault::Deep(self.limits.depth))?;
        let plan = self.plan;
        self.head(message, at);
        let mut end = plan.head(message).end;
        for step in plan.steps(message) {
            self.clear(at, end, step.at);
            end = step.at + step.size();
            if step.is_there(|place, len| word(self.room.bytes(at + u64::from(place), len as usize))) {
                match fields {
                    None => self.field(step, at, depth, None)?,
                    Some(fields) => {
                        if let Some(inner) = fields.inner(step.number) {
                            self.field(step, at, depth, Some(inner))?;
                        }
                    }
                }
            } else {
                self.clear(at, step.at, end);
            }
        }
        self.clear(at, end, plan.size(message) as u32);
        Ok(())
    }

    /// Clears bits and choices that stand for no field.
    fn head(&mut self, message: MessageId, at: u64) {
        let head = self.plan.head(message);
        let unused = u64::from(head.choices) * 8 - u64::from(head.bits);
        if unused > 0 {
            let last = at + u64::from(head.choices) - 8;
            let bits = word(self.room.bytes(last, 8)) << unused >> unused;
            self.write(last, &bits.to_le_bytes());
        }
        for choice in (head.choices..head.end).step_by(4) {
            let number = word(self.room.bytes(at + u64::from(choice), 4)) as u32;
            let step = self.plan.step(message, number);
            if step.is_none_or(|step| step.told != Told::Choice(choice)) {
                self.clear(at, choice, choice + 4);
            }
        }
    }

    /// Clears a part of the structure at this address.
    #[inline]
    fn clear(&mut self, at: u64, begin: u32, end: u32) {
        if begin < end {
            self.room.bytes(at + u64::from(begin), (end - begin) as usize).fill(0);
        }
    }

    fn field(
        &mut self,
        step: &Step,
        structure: u64,
        depth: u32,
        fields: Option<&Fields>,
    ) -> Result<(), Fault> {
        let at = structure + u64::from(step.at);
        match (step.told, step.element) {
            (Told::Count { .. }, element) => self.repeated(step, element, at, depth, fields),
            (_, Element::Number(number)) => {
                self.numbers(number, at, 1);
                Ok(())
            }
            (_, Element::Text | Element::Bytes) => self.text(step, at),
            (told, Element::Message(message)) => {
                let inner = match word(self.room.bytes(at, 8)) {
                    0 if told == Told::Value => 0,
                    0 if depth == 0 => return Err(Fault::Deep(self.limits.depth)),
                    0 => self.reserve(self.plan.size(message))?,
                    from => self.message(message, from, depth, fields)?,
                };
                self.write(at, &inner.to_le_bytes());
                Ok(())
            }
        }
    }

    #[inline]
    fn write(&mut self, at: u64, bytes: &[u8]) {
        self.room.bytes(at, bytes.len()).copy_from_slice(bytes);
    }

    /// Makes numbers in a row values of their type. Of most types, any bytes are one.
    #[inline]
    fn numbers(&mut self, number: Number, at: u64, count: usize) {
        if number == Number::Bool {
            self.room.bytes(at, count).iter_mut().for_each(|byte| *byte = u8::from(*byte != 0));
        }
    }

    /// Copies the text or the bytes to which the reference at this address leads.
    fn text(&mut self, step: &Step, at: u64) -> Result<(), Fault> {
        if self.leave(at, 1)? {
            return Ok(());
        }
        let Some((row, len)) = self.row(at, 1)? else { return Ok(()) };
        if step.element == Element::Text && std::str::from_utf8(self.room.bytes(row, len)).is_err() {
            return Err(Fault::NotText(step.number));
        }
        Ok(())
    }

    fn repeated(
        &mut self,
        step: &Step,
        element: Element,
        at: u64,
        depth: u32,
        fields: Option<&Fields>,
    ) -> Result<(), Fault> {
        let size = self.plan.stride(element);
        if matches!(element, Element::Number(_)) && self.leave(at, size)? {
            return Ok(());
        }
        let Some((row, len)) = self.row(at, size)? else { return Ok(()) };
        let mut elements = (0..len as u64).map(|place| row + place * size as u64);
        match element {
            Element::Number(number) => {
                self.numbers(number, row, len);
                Ok(())
            }
            Element::Text | Element::Bytes => elements.try_for_each(|at| self.text(step, at)),
            Element::Message(message) => {
                elements.try_for_each(|at| self.structure(message, at, depth, fields))
            }
        }
    }

    /// Leaves the elements, of this size each, to which the reference at this address leads where they are. Returns false if they have to be
    /// copied.
    #[inline]
    fn leave(&mut self, at: u64, size: usize) -> Result<bool, Fault> {
        let Reference { at: from, len, .. } = Reference::read(self.room.bytes(at, REFERENCE as usize));
        let Some(bytes) = (len as usize).checked_mul(size) else { return Ok(false) };
        if !self.room.leave(at, from, bytes) {
            return Ok(false);
        }
        self.left = self.left.checked_sub(bytes).ok_or(Fault::Large(self.limits.memory))?;
        self.write(at + 8, &Reference { at: 0, len, capacity: len }.to_bytes()[8..]);
        Ok(true)
    }

    /// Copies the elements, of this size each, to which the reference at this address leads, and makes it lead to the copies. Returns their
    /// address and number, if there are any.
    fn row(&mut self, at: u64, size: usize) -> Result<Option<(u64, usize)>, Fault> {
        let Reference { at: from, len, .. } = Reference::read(self.room.bytes(at, REFERENCE as usize));
        if len == 0 {
            self.write(at, &Reference::default().to_bytes());
            return Ok(None);
        }
        let bytes = (len as usize).checked_mul(size).ok_or(Fault::Large(self.limits.memory))?;
        let to = self.bytes(from, bytes)?;
        self.write(at, &Reference { at: to, len, capacity: len }.to_bytes());
        Ok(Some((to, len as usize)))
    }
}
