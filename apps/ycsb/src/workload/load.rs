//! The load phase, which writes every record once.

use std::ops::Range;

use rand::rngs::StdRng;

use super::{Layout, Operation, Operations};
use crate::parameters::Parameters;

/// The inserts of a connection's part of the load phase.
#[derive(Clone, Debug)]
pub struct Load {
    numbers: Range<u64>,
    layout: Layout,
}

impl Load {
    /// Creates part `part` of `parts` (counted from 0): adjacent ranges that cover all records together.
    pub fn part(parameters: &Parameters, part: u64, parts: u64) -> Self {
        let cut = |part: u64| {
            let count = u128::from(parameters.insert_count) * u128::from(part) / u128::from(parts.max(1));
            parameters.insert_start + u64::try_from(count).unwrap_or(parameters.insert_count)
        };
        Self { numbers: cut(part)..cut(part + 1), layout: Layout::new(parameters) }
    }
}

impl Operations for Load {
    fn next(&mut self, rng: &mut StdRng) -> Option<Operation> {
        let number = self.numbers.next()?;
        Some(Operation::Insert { number, key: self.layout.key(number), record: self.layout.record(rng) })
    }

    fn remaining(&self) -> Option<u64> {
        Some(self.numbers.end - self.numbers.start)
    }

    fn settle(&mut self, _number: u64) {
        // Nothing reads while the records are being loaded.
    }
}
