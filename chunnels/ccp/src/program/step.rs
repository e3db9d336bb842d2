//! Instructions with the places of their operands.

use super::{Refused, slot};
use crate::message::{Instruction, Operation, Register};
use std::ops::Range;

/// A `when` clause: the steps of its condition, and of its body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    pub(crate) condition: Range<usize>,
    pub(crate) body: Range<usize>,
}

/// An instruction that can be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) operation: Operation,
    pub(crate) left: Source,
    pub(crate) right: Source,
    pub(crate) target: Target,
    /// The old value of the result.
    pub(crate) old: u16,
}

/// An operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Source {
    Constant(u32),
    Slot(u16),
}

/// The place of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Target {
    Slot(u16),
    /// The timer, which goes on from the value.
    Timer,
}

impl Step {
    pub(super) fn load(instruction: &Instruction) -> Result<Self, Refused> {
        let Instruction { operation, result, left, right } = *instruction;
        let target = Target::load(result);
        let old = match slot::of(result) {
            Some(old) => old,
            None if operation == Operation::Ewma => return Err(Refused::NoSuchRegister(result)),
            None => slot::IGNORED,
        };
        let left = Source::load(left)?;
        let right = Source::load(right)?;
        Ok(Self { operation, left, right, target, old: old as u16 })
    }
}

impl Source {
    fn load(register: Register) -> Result<Self, Refused> {
        match (register, slot::of(register)) {
            (Register::Immediate(value), _) => Ok(Self::Constant(value)),
            (_, Some(slot)) => Ok(Self::Slot(slot as u16)),
            (_, None) => Err(Refused::NoSuchRegister(register)),
        }
    }
}

impl Target {
    pub(super) fn load(register: Register) -> Self {
        match slot::of(register) {
            Some(slot::MICROS) => Self::Timer,
            Some(slot) => Self::Slot(slot as u16),
            // As in libccp, a result without a register is dropped.
            None => Self::Slot(slot::IGNORED as u16),
        }
    }
}
