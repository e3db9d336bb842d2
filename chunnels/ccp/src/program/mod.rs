//! Programs that were checked and can be run.

mod refused;
pub(crate) mod slot;
mod step;

pub use refused::Refused;
pub(crate) use step::{Clause, Source, Step, Target};

use crate::SignalSet;
use crate::message::{Install, Instruction, MAX_FIELDS, MAX_INSTRUCTIONS, Operation, Register};
use std::ops::Range;

/// The constant of a definition that means infinity, which is 2^32 - 1 in registers.
const INFINITY: u32 = 0x3fff_ffff;

/// A program that was checked: running it reads nothing undefined, and ends after at most 256 instructions.
///
/// Programs are shared by all flows that run them.
#[derive(Debug, PartialEq, Eq)]
pub struct Program {
    pub(crate) uid: u32,
    /// Number of registers in a report.
    pub(crate) reports: usize,
    pub(crate) definitions: Vec<Definition>,
    pub(crate) clauses: Vec<Clause>,
    pub(crate) steps: Vec<Step>,
    reads: SignalSet,
}

/// The value of a register when the program begins, and after each report if it is volatile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Definition {
    pub(crate) slot: u16,
    pub(crate) value: u64,
    pub(crate) is_volatile: bool,
}

impl Program {
    /// Checks a program.
    ///
    /// # Errors
    /// [`Refused`] where libccp would read beyond its memory, run for ever or crash, and for a program that
    /// runs more instructions than allowed. Programs that portus compiles are never refused, except
    /// expressions of more than eight parts.
    pub fn load(install: &Install) -> Result<Self, Refused> {
        let count = install.instructions.len();
        let mut clauses = Vec::with_capacity(install.clauses.len());
        let mut work = 0;
        for (at, clause) in install.clauses.iter().enumerate() {
            let condition = range(clause.condition_start, clause.condition_count, count);
            let body = range(clause.body_start, clause.body_count, count);
            let (Some(condition), Some(body)) = (condition, body) else {
                return Err(Refused::NoSuchInstruction { clause: at });
            };
            work += condition.len() + body.len();
            clauses.push(Clause { condition, body });
        }
        if work > MAX_INSTRUCTIONS {
            return Err(Refused::TooMuchWork { instructions: work });
        }
        let steps = install.instructions.iter().map(Step::load).collect::<Result<_, _>>()?;
        let defined = install.instructions.iter().position(|one| one.operation != Operation::Define);
        let mut definitions = Vec::new();
        let mut reports = 0;
        for instruction in install.instructions.iter().take(defined.unwrap_or(count)) {
            definitions.extend(Definition::load(instruction));
            reports += usize::from(matches!(instruction.left, Register::Report { .. }));
        }
        if reports > MAX_FIELDS {
            return Err(Refused::TooManyReports { reports });
        }
        // libccp counts the registers to report when it meets the first instruction that is no definition.
        let reports = if defined.is_some() { reports } else { 0 };
        let operands = install.instructions.iter().flat_map(|one| [one.left, one.right]);
        let reads = operands.fold(SignalSet::default(), |reads, operand| match operand {
            Register::Signal(index) => {
                crate::Signal::ALL.get(index as usize).map_or(reads, |signal| reads.with(*signal))
            }
            _ => reads,
        });
        Ok(Self { uid: install.program, reports, definitions, clauses, steps, reads })
    }

    /// Returns the agent's number for the program.
    pub fn uid(&self) -> u32 {
        self.uid
    }

    /// Returns the signals that the program reads.
    pub fn reads(&self) -> SignalSet {
        self.reads
    }
}

impl Definition {
    fn load(instruction: &Instruction) -> Option<Self> {
        let is_volatile = match instruction.left {
            Register::Report { is_volatile, .. } | Register::Control { is_volatile, .. } => is_volatile,
            _ => return None,
        };
        let Target::Slot(slot) = Target::load(instruction.left) else { return None };
        let value = match instruction.right {
            Register::Immediate(INFINITY) => u64::from(u32::MAX),
            Register::Immediate(value) => u64::from(value),
            _ => 0,
        };
        Some(Self { slot, value, is_volatile })
    }
}

fn range(start: u32, count: u32, of: usize) -> Option<Range<usize>> {
    let start = usize::try_from(start).ok()?;
    let end = start.checked_add(usize::try_from(count).ok()?)?;
    (end <= of).then_some(start..end)
}
