//! The fields of an encoded message.

use super::{Fault, Wire};

/// The fields of an encoded message that have not been read yet.
#[derive(Debug, Clone)]
pub(super) struct Fields<'a> {
    rest: &'a [u8],
    /// Number of levels of groups that may follow.
    depth: u32,
}

/// The value of a field.
#[derive(Debug, Clone, Copy)]
pub(super) enum Value<'a> {
    /// A number, and how it was encoded.
    Number(Wire, u64),
    Bytes(&'a [u8]),
    /// A group, which no schema of ours has.
    Group,
}

impl<'a> Fields<'a> {
    pub(super) fn of(message: &'a [u8], depth: u32) -> Self {
        Self { rest: message, depth }
    }

    /// Returns the next field's number and value, or `None` at the end.
    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<(u32, Value<'a>)>, Fault> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let (field, wire) = self.key()?;
        let value = match wire {
            Wire::Varint => Value::Number(wire, self.varint()?),
            Wire::Fixed32 => Value::Number(wire, u32::from_le_bytes(self.array()?).into()),
            Wire::Fixed64 => Value::Number(wire, u64::from_le_bytes(self.array()?)),
            Wire::Bytes => {
                let len = self.varint()?;
                Value::Bytes(self.take(len)?)
            }
            Wire::StartGroup => {
                self.skip_group(field)?;
                Value::Group
            }
            Wire::EndGroup => return Err(Fault::Malformed),
        };
        Ok(Some((field, value)))
    }

    /// Returns the number of fields of this number in a row from here on.
    pub(super) fn run(&self, field: u32) -> usize {
        let mut ahead = self.clone();
        let mut count = 0;
        while let Ok(Some((next, _))) = ahead.next()
            && next == field
        {
            count += 1;
        }
        count
    }

    #[inline]
    fn key(&mut self) -> Result<(u32, Wire), Fault> {
        let key = u32::try_from(self.varint()?).map_err(|_| Fault::Malformed)?;
        let wire = match key & 7 {
            0 => Wire::Varint,
            1 => Wire::Fixed64,
            2 => Wire::Bytes,
            3 => Wire::StartGroup,
            4 => Wire::EndGroup,
            5 => Wire::Fixed32,
            _ => return Err(Fault::Malformed),
        };
        if key >> 3 == 0 { Err(Fault::Malformed) } else { Ok((key >> 3, wire)) }
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, Fault> {
        match *self.rest {
            [byte @ 0..0x80, ref rest @ ..] => {
                self.rest = rest;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, Fault> {
        let mut value = 0;
        for (place, byte) in self.rest.iter().take(10).enumerate() {
            value |= u64::from(byte & 0x7f) << (7 * place);
            if byte & 0x80 == 0 {
                self.rest = &self.rest[place + 1..];
                // Of the tenth byte, there is room for a single bit.
                return if place == 9 && *byte > 1 { Err(Fault::Malformed) } else { Ok(value) };
            }
        }
        Err(if self.rest.len() < 10 { Fault::Unfinished } else { Fault::Malformed })
    }

    #[inline]
    fn array<const N: usize>(&mut self) -> Result<[u8; N], Fault> {
        let (array, rest) = self.rest.split_first_chunk().ok_or(Fault::Unfinished)?;
        self.rest = rest;
        Ok(*array)
    }

    #[inline]
    fn take(&mut self, len: u64) -> Result<&'a [u8], Fault> {
        let (bytes, rest) = usize::try_from(len)
            .ok()
            .and_then(|len| self.rest.split_at_checked(len))
            .ok_or(Fault::Unfinished)?;
        self.rest = rest;
        Ok(bytes)
    }

    /// Skips what follows up to the end of the group of this number.
    fn skip_group(&mut self, group: u32) -> Result<(), Fault> {
        let depth = self.depth.checked_sub(1).ok_or(Fault::Malformed)?;
        let mut within = Fields { rest: self.rest, depth };
        loop {
            let before = within.clone();
            match within.next() {
                Ok(Some(_)) => {}
                Ok(None) => return Err(Fault::Unfinished),
                Err(_) if before.clone().key() == Ok((group, Wire::EndGroup)) => {
                    let mut end = before;
                    end.key()?;
                    self.rest = end.rest;
                    return Ok(());
                }
                Err(fault) => return Err(fault),
            }
        }
    }
}

/// The numbers of a row.
#[derive(Debug)]
pub(super) struct Packed<'a>(Fields<'a>, Wire);

impl<'a> Packed<'a> {
    pub(super) fn of(row: &'a [u8], wire: Wire) -> Self {
        Self(Fields::of(row, 0), wire)
    }

    /// Returns the number of numbers, as long as the row is whole.
    pub(super) fn count(&self) -> usize {
        let row = self.0.rest;
        match self.1 {
            Wire::Fixed32 => row.len() / 4,
            Wire::Fixed64 => row.len() / 8,
            _ => row.iter().filter(|byte| *byte & 0x80 == 0).count(),
        }
    }

    #[inline]
    pub(super) fn next(&mut self) -> Result<Option<u64>, Fault> {
        if self.0.rest.is_empty() {
            return Ok(None);
        }
        Ok(Some(match self.1 {
            Wire::Fixed32 => u32::from_le_bytes(self.0.array()?).into(),
            Wire::Fixed64 => u64::from_le_bytes(self.0.array()?),
            _ => self.0.varint()?,
        }))
    }
}
