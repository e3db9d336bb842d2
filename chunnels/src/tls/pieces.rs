//! Records in buffers for the connection below.

use super::machine::{Machine, RECORD};
use bertha_core::{Base, Buf, Connection, Error};

/// Maximum size of a piece of records, in bytes: four records of full size. With the headers of layers below
/// it still fits the largest pooled buffer, and the amount that a stream reads at once; a larger piece would
/// cost an allocation at one end, and a copy at the other.
const LARGEST: usize = 4 * RECORD;

/// The pieces in which records go to the connection below. A piece need not begin or end where records do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pieces {
    /// The headroom that the layers below need.
    below: usize,
    /// The size of the largest piece: whole records, where a record fits.
    largest: usize,
}

impl Pieces {
    pub(super) fn new<Inner: Connection>(inner: &Inner) -> Self {
        let below = inner.base().reserved();
        let fitting = inner.mtu().saturating_sub(below).clamp(1, LARGEST);
        Self { below, largest: if fitting < RECORD { fitting } else { fitting / RECORD * RECORD } }
    }

    /// Returns the headroom that the layers below need.
    pub(super) fn below(&self) -> usize {
        self.below
    }

    /// Takes the waiting records of `machine`.
    pub(super) fn fill<Inner: Connection>(
        &self,
        machine: &mut Machine,
        inner: &Inner,
        records: &mut Vec<Buf>,
    ) -> Result<(), Error> {
        machine.records(self.largest, |len| self.buffer(inner.base(), len), records)
    }

    /// Returns a buffer of the connection below, without the headroom of the layers above.
    fn buffer(&self, base: &impl Base, len: usize) -> Result<Buf, Error> {
        let spare = base.reserved().saturating_sub(self.below).min(len);
        let buffer = base.buffer(len - spare).and_then(|mut buffer| {
            buffer.prepend(spare)?;
            Ok(buffer)
        });
        // The records are encrypted already, and would be lost without a buffer.
        buffer.or_else(|_| Buf::new(len, self.below))
    }
}
