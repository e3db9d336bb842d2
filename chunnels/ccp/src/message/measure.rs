//! The report of a flow.

use super::header::{Header, Kind};
use super::{Malformed, Reader};

/// Maximum number of fields of a report, equal to the number of registers to report.
pub const MAX_FIELDS: usize = 110;

/// A report of a flow. A report without fields says that the flow has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Measure {
    /// The number of the flow.
    pub flow: u32,
    /// The program that made the report; 0 at the end of the flow.
    pub program: u32,
    /// The registers to report, in the order of their definitions.
    pub fields: Vec<u64>,
}

impl Measure {
    pub(super) fn decode(flow: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let program = reader.u32()?;
        let count = reader.count("fields", MAX_FIELDS)?;
        reader.holds(count, 8)?;
        let fields = (0..count).map(|_| reader.u64()).collect::<Result<_, _>>()?;
        Ok(Self { flow, program, fields })
    }

    /// Appends the message to `into`.
    ///
    /// # Errors
    /// [`Malformed::TooMany`] for more than [`MAX_FIELDS`] fields.
    pub fn encode(&self, into: &mut Vec<u8>) -> Result<(), Malformed> {
        Self::encode_fields(self.flow, self.program, &self.fields, into)
    }

    /// Appends a report of borrowed `fields` to `into`: for datapaths, which should not allocate for each report.
    ///
    /// # Errors
    /// [`Malformed::TooMany`] for more than [`MAX_FIELDS`] fields.
    pub fn encode_fields(
        flow: u32,
        program: u32,
        fields: &[u64],
        into: &mut Vec<u8>,
    ) -> Result<(), Malformed> {
        let count = fields.len();
        if count > MAX_FIELDS {
            return Err(Malformed::TooMany { what: "fields", count: count as u32 });
        }
        Header::encode(Kind::Measure, flow, 8 + 8 * count, into);
        into.extend(program.to_le_bytes());
        into.extend((count as u32).to_le_bytes());
        fields.iter().for_each(|field| into.extend(field.to_le_bytes()));
        Ok(())
    }
}
