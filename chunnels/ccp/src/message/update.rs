//! New values for registers, and another program.

use super::header::{Header, Kind};
use super::{Malformed, Reader, Register};

/// Maximum number of fields that a message sets.
pub const MAX_UPDATES: usize = 222;

/// A new value for a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Field {
    /// A register of control, or an implicit register; of the implicit registers only window and rate take
    /// the value.
    pub register: Register,
    /// The value.
    pub value: u64,
}

impl Field {
    /// Size of a field in bytes.
    const SIZE: usize = 5 + 8;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let register = Register::decode(reader)?;
        match register {
            Register::Control { .. } | Register::Implicit(_) => Ok(Self { register, value: reader.u64()? }),
            _ => Err(Malformed::NotUpdatable(register)),
        }
    }

    fn decode_all(reader: &mut Reader<'_>) -> Result<Vec<Self>, Malformed> {
        let count = reader.count("updates", MAX_UPDATES)?;
        reader.holds(count, Self::SIZE)?;
        (0..count).map(|_| Self::decode(reader)).collect()
    }

    fn encode_all(fields: &[Self], into: &mut Vec<u8>) {
        into.extend((fields.len() as u32).to_le_bytes());
        for field in fields {
            field.register.encode(into);
            into.extend(field.value.to_le_bytes());
        }
    }

    fn check(fields: &[Self]) -> Result<(), Malformed> {
        let count = fields.len();
        if count > MAX_UPDATES {
            return Err(Malformed::TooMany { what: "updates", count: count as u32 });
        }
        Ok(())
    }
}

/// New values for registers of a flow, which take effect at its next acknowledgement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Update {
    /// The number of the flow.
    pub flow: u32,
    /// The values.
    pub fields: Vec<Field>,
}

impl Update {
    pub(super) fn decode(flow: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { flow, fields: Field::decode_all(reader)? })
    }

    /// Appends the message to `into`.
    ///
    /// # Errors
    /// [`Malformed::TooMany`] for more than [`MAX_UPDATES`] fields.
    pub fn encode(&self, into: &mut Vec<u8>) -> Result<(), Malformed> {
        Field::check(&self.fields)?;
        Header::encode(Kind::Update, self.flow, 4 + Field::SIZE * self.fields.len(), into);
        Field::encode_all(&self.fields, into);
        Ok(())
    }
}

/// Another program for a flow, with values for its registers, from its next acknowledgement on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    /// The number of the flow.
    pub flow: u32,
    /// The program, which was installed before.
    pub program: u32,
    /// The values, in place of the values in the program's definitions.
    pub fields: Vec<Field>,
}

impl Change {
    pub(super) fn decode(flow: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self { flow, program: reader.u32()?, fields: Field::decode_all(reader)? })
    }

    /// Appends the message to `into`.
    ///
    /// # Errors
    /// [`Malformed::TooMany`] for more than [`MAX_UPDATES`] fields.
    pub fn encode(&self, into: &mut Vec<u8>) -> Result<(), Malformed> {
        Field::check(&self.fields)?;
        Header::encode(Kind::Change, self.flow, 8 + Field::SIZE * self.fields.len(), into);
        into.extend(self.program.to_le_bytes());
        Field::encode_all(&self.fields, into);
        Ok(())
    }
}
