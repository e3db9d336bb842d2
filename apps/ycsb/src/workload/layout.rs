//! The layout of records: their keys, and their fields side by side.

use rand::{Rng, RngExt};

use crate::generator::fnv_hash;
use crate::parameters::{InsertOrder, KEY_PREFIX, Parameters};

/// A generator of keys and contents.
///
/// A record is its fields side by side without separators, so field `i` begins at `i * field_length`.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    order: InsertOrder,
    zero_padding: usize,
    fields: usize,
    field_length: usize,
    write_all_fields: bool,
}

impl Layout {
    /// Creates the layout that the parameters ask for.
    pub fn new(parameters: &Parameters) -> Self {
        Self {
            order: parameters.order,
            zero_padding: parameters.zero_padding,
            fields: parameters.fields,
            field_length: parameters.field_length,
            write_all_fields: parameters.write_all_fields,
        }
    }

    /// Returns the key of the record with this number: `user` and the number, hashed or as it is.
    pub fn key(&self, number: u64) -> String {
        let number = match self.order {
            InsertOrder::Hashed => fnv_hash(number),
            InsertOrder::Ordered => number,
        };
        format!("{KEY_PREFIX}{number:0width$}", width = self.zero_padding)
    }

    /// Returns random content for a whole record.
    pub fn record(&self, rng: &mut (impl Rng + ?Sized)) -> Vec<u8> {
        random_bytes(self.fields * self.field_length, rng)
    }

    /// Returns the part of a record that an update overwrites: its offset in bytes, and random content.
    pub fn part(&self, rng: &mut (impl Rng + ?Sized)) -> (u32, Vec<u8>) {
        if self.write_all_fields {
            return (0, self.record(rng));
        }
        let offset = rng.random_range(0..self.fields) * self.field_length;
        // A record is no longer than a value may be, so its offsets fit; a longer record would be refused
        // anyway.
        (u32::try_from(offset).unwrap_or(u32::MAX), random_bytes(self.field_length, rng))
    }
}

fn random_bytes(length: usize, rng: &mut (impl Rng + ?Sized)) -> Vec<u8> {
    let mut bytes = vec![0; length];
    rng.fill_bytes(&mut bytes);
    bytes
}
