//! The run phase: operations drawn in the proportions of the workload.

use std::sync::Arc;

use rand::RngExt;
use rand::rngs::StdRng;

use super::{Kind, Layout, Operation, Operations};
use crate::generator::{InsertSequence, Latest, ScrambledZipfian, THETA, Uniform, Zipfian};
use crate::parameters::{Mix, Parameters, RequestDistribution, ScanLengthDistribution};

/// The operations of a connection's part of the run phase.
#[derive(Clone, Debug)]
pub struct Mixed {
    /// Number of remaining operations; `None` means no limit.
    remaining: Option<u64>,
    mix: Mix,
    layout: Layout,
    chooser: Chooser,
    lengths: ScanLengths,
    sequence: Arc<InsertSequence>,
}

#[derive(Clone, Debug)]
enum Chooser {
    Uniform { first: u64, over: Uniform },
    Zipfian { first: u64, over: ScrambledZipfian },
    Latest(Latest),
}

/// The numbers of records of scans.
#[derive(Clone, Debug)]
enum ScanLengths {
    Uniform { shortest: u32, over: Uniform },
    Zipfian { shortest: u32, over: Zipfian },
}

impl Mixed {
    /// Creates part `part` of `parts` (counted from 0) of the operations. All parts share the `sequence` of
    /// new records, which starts at [`Parameters::records`].
    pub fn part(parameters: &Parameters, part: u64, parts: u64, sequence: Arc<InsertSequence>) -> Self {
        let total = parameters.operations;
        let remaining = (total > 0).then(|| total / parts.max(1) + u64::from(part < total % parts.max(1)));
        Self {
            remaining,
            mix: parameters.mix,
            layout: Layout::new(parameters),
            chooser: Chooser::new(parameters),
            lengths: ScanLengths::new(parameters),
            sequence,
        }
    }

    fn kind(&self, rng: &mut StdRng) -> Kind {
        let Mix { read, scan, update, insert, read_modify_write } = self.mix;
        let mut drawn = rng.random::<f64>() * (read + scan + update + insert + read_modify_write);
        let proportions =
            [(Kind::Read, read), (Kind::Scan, scan), (Kind::Update, update), (Kind::Insert, insert)];
        for (kind, proportion) in proportions {
            if drawn < proportion {
                return kind;
            }
            drawn -= proportion;
        }
        // Rounding can carry a draw past the end, where a proportion of zero must still mean never.
        if read_modify_write > 0.0 {
            Kind::ReadModifyWrite
        } else if read > 0.0 {
            Kind::Read
        } else if scan > 0.0 {
            Kind::Scan
        } else if update > 0.0 {
            Kind::Update
        } else {
            Kind::Insert
        }
    }

    fn existing_key(&mut self, rng: &mut StdRng) -> String {
        self.layout.key(self.chooser.next(self.sequence.settled(), rng))
    }
}

impl Operations for Mixed {
    fn next(&mut self, rng: &mut StdRng) -> Option<Operation> {
        if let Some(remaining) = &mut self.remaining {
            *remaining = remaining.checked_sub(1)?;
        }
        Some(match self.kind(rng) {
            Kind::Read => Operation::Read { key: self.existing_key(rng) },
            Kind::Scan => Operation::Scan { key: self.existing_key(rng), count: self.lengths.next(rng) },
            Kind::Update => {
                let (key, (offset, bytes)) = (self.existing_key(rng), self.layout.part(rng));
                Operation::Update { key, offset, bytes }
            }
            Kind::Insert => {
                let number = self.sequence.take();
                Operation::Insert { number, key: self.layout.key(number), record: self.layout.record(rng) }
            }
            Kind::ReadModifyWrite => {
                let (key, (offset, bytes)) = (self.existing_key(rng), self.layout.part(rng));
                Operation::ReadModifyWrite { key, offset, bytes }
            }
        })
    }

    fn remaining(&self) -> Option<u64> {
        self.remaining
    }

    fn settle(&mut self, number: u64) {
        self.sequence.settle(number);
    }
}

impl Chooser {
    fn new(parameters: &Parameters) -> Self {
        let first = parameters.insert_start;
        let count = parameters.insert_count;
        match parameters.distribution {
            RequestDistribution::Uniform => Self::Uniform { first, over: Uniform::new(count) },
            RequestDistribution::Zipfian => {
                // As in YCSB, the range is fixed in advance and leaves space for twice the inserts expected, so
                // that the popular records stay the same while it fills up.
                let expected = parameters.operations as f64 * parameters.mix.insert * 2.0;
                Self::Zipfian { first, over: ScrambledZipfian::new(count.saturating_add(expected as u64)) }
            }
            RequestDistribution::Latest => Self::Latest(Latest::new(parameters.records)),
        }
    }

    /// Draws the number of a record below `settled`, which is at least 1.
    fn next(&mut self, settled: u64, rng: &mut StdRng) -> u64 {
        match self {
            Self::Uniform { first, over } => *first + over.next(rng),
            Self::Zipfian { first, over } => loop {
                let number = *first + over.next(rng);
                if number < settled {
                    return number;
                }
            },
            Self::Latest(latest) => latest.next(settled.saturating_sub(1), rng),
        }
    }
}

impl ScanLengths {
    fn new(parameters: &Parameters) -> Self {
        let (shortest, longest) = parameters.scan_lengths;
        let lengths = u64::from(longest.saturating_sub(shortest)) + 1;
        match parameters.scan_distribution {
            ScanLengthDistribution::Uniform => Self::Uniform { shortest, over: Uniform::new(lengths) },
            ScanLengthDistribution::Zipfian => Self::Zipfian { shortest, over: Zipfian::new(lengths, THETA) },
        }
    }

    fn next(&self, rng: &mut StdRng) -> u32 {
        let (shortest, beyond) = match self {
            Self::Uniform { shortest, over } => (*shortest, over.next(rng)),
            Self::Zipfian { shortest, over } => (*shortest, over.next(rng)),
        };
        // The sum is at most the longest length, which has the same type.
        shortest.saturating_add(u32::try_from(beyond).unwrap_or(u32::MAX))
    }
}

#[cfg(test)]
mod tests;
