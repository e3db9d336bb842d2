//! A program in the format of messages.

use super::header::{Header, Kind};
use super::{Malformed, Reader, Register};

/// Maximum number of clauses of a program.
pub const MAX_CLAUSES: usize = 256;

/// Maximum number of instructions of a program.
pub const MAX_INSTRUCTIONS: usize = 256;

/// A compiled program in the format of messages. [`Program::load`](crate::Program::load) checks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Install {
    /// The number of the flow, which has no meaning: programs are for all flows.
    pub flow: u32,
    /// The agent's number for the program.
    pub program: u32,
    /// The `when` clauses, in order.
    pub clauses: Vec<Clause>,
    /// The instructions: definitions first, then the instructions that the clauses refer to.
    pub instructions: Vec<Instruction>,
}

/// A `when` clause: the instructions of its condition, and the instructions of its body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clause {
    /// The first instruction of the condition.
    pub condition_start: u32,
    /// The number of instructions of the condition.
    pub condition_count: u32,
    /// The first instruction of the body.
    pub body_start: u32,
    /// The number of instructions of the body.
    pub body_count: u32,
}

/// One instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Instruction {
    /// The operation.
    pub operation: Operation,
    /// The register that takes the result.
    pub result: Register,
    /// The left operand.
    pub left: Register,
    /// The right operand.
    pub right: Register,
}

/// An operation on 64-bit numbers without sign, with its code. `true` is any number but 0; a comparison gives 1 or 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Operation {
    /// The sum; a fault where it does not fit.
    Add = 0,
    /// The right operand.
    Bind = 1,
    /// The definition of a register, which takes the right operand when the program begins. It does nothing
    /// elsewhere.
    Define = 2,
    /// The quotient, rounded down; a fault for a divisor of 0.
    Divide = 3,
    /// True if both operands are equal.
    Equal = 4,
    /// The mean of the old result and the right operand, weighted with left tenths and the rest of ten; the
    /// right operand if the old result is 0. It is computed modulo 2^64.
    Ewma = 5,
    /// True if the left operand is greater.
    Greater = 6,
    /// The right operand, if the left operand is true; else the result stays.
    If = 7,
    /// True if the left operand is less.
    Less = 8,
    /// The greater operand.
    Max = 9,
    /// The later of two numbers that wrap at 2^32; 0 is before all numbers.
    MaxWrapped = 10,
    /// The lesser operand.
    Min = 11,
    /// The product, modulo 2^64; a fault where the result is less than the left operand, which detects many
    /// overflows but not all.
    Multiply = 12,
    /// The right operand, if the left operand is false; else the result stays.
    IfNot = 13,
    /// The difference; a fault where it is negative.
    Subtract = 14,
}

impl Operation {
    const ALL: [Self; 15] = [
        Self::Add,
        Self::Bind,
        Self::Define,
        Self::Divide,
        Self::Equal,
        Self::Ewma,
        Self::Greater,
        Self::If,
        Self::Less,
        Self::Max,
        Self::MaxWrapped,
        Self::Min,
        Self::Multiply,
        Self::IfNot,
        Self::Subtract,
    ];
}

impl Register {
    pub(super) fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let kind = reader.u8()?;
        let value = reader.u32()?;
        Ok(match kind {
            0 => Self::Control { index: value, is_volatile: false },
            1 => Self::Immediate(value),
            2 => Self::Implicit(value),
            3 => Self::Local(value),
            4 => Self::Signal(value),
            5 => Self::Report { index: value, is_volatile: true },
            6 => Self::Report { index: value, is_volatile: false },
            7 => Self::Temporary(value),
            8 => Self::Control { index: value, is_volatile: true },
            _ => return Err(Malformed::UnknownRegister(kind)),
        })
    }

    pub(super) fn encode(self, into: &mut Vec<u8>) {
        let (kind, value) = match self {
            Self::Control { index, is_volatile: false } => (0, index),
            Self::Immediate(value) => (1, value),
            Self::Implicit(index) => (2, index),
            Self::Local(index) => (3, index),
            Self::Signal(index) => (4, index),
            Self::Report { index, is_volatile: true } => (5, index),
            Self::Report { index, is_volatile: false } => (6, index),
            Self::Temporary(index) => (7, index),
            Self::Control { index, is_volatile: true } => (8, index),
        };
        into.push(kind);
        into.extend(value.to_le_bytes());
    }
}

impl Clause {
    const SIZE: usize = 16;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            condition_start: reader.u32()?,
            condition_count: reader.u32()?,
            body_start: reader.u32()?,
            body_count: reader.u32()?,
        })
    }

    fn encode(self, into: &mut Vec<u8>) {
        let numbers = [self.condition_start, self.condition_count, self.body_start, self.body_count];
        numbers.iter().for_each(|number| into.extend(number.to_le_bytes()));
    }
}

impl Instruction {
    const SIZE: usize = 16;

    fn decode(reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let code = reader.u8()?;
        let operation = *Operation::ALL.get(usize::from(code)).ok_or(Malformed::UnknownOperation(code))?;
        let result = Register::decode(reader)?;
        if matches!(result, Register::Immediate(_) | Register::Signal(_)) {
            return Err(Malformed::ReadOnly(result));
        }
        Ok(Self { operation, result, left: Register::decode(reader)?, right: Register::decode(reader)? })
    }

    fn encode(self, into: &mut Vec<u8>) {
        into.push(self.operation as u8);
        [self.result, self.left, self.right].iter().for_each(|register| register.encode(into));
    }
}

impl Install {
    pub(super) fn decode(flow: u32, reader: &mut Reader<'_>) -> Result<Self, Malformed> {
        let program = reader.u32()?;
        let clauses = reader.count("clauses", MAX_CLAUSES)?;
        let instructions = reader.count("instructions", MAX_INSTRUCTIONS)?;
        reader.holds(clauses + instructions, Instruction::SIZE)?;
        let clauses = (0..clauses).map(|_| Clause::decode(reader)).collect::<Result<_, _>>()?;
        let instructions =
            (0..instructions).map(|_| Instruction::decode(reader)).collect::<Result<_, _>>()?;
        Ok(Self { flow, program, clauses, instructions })
    }

    /// Appends the message to `into`.
    ///
    /// # Errors
    /// [`Malformed::TooMany`] for more clauses or instructions than allowed.
    pub fn encode(&self, into: &mut Vec<u8>) -> Result<(), Malformed> {
        let clauses = self.clauses.len();
        let instructions = self.instructions.len();
        if clauses > MAX_CLAUSES {
            return Err(Malformed::TooMany { what: "clauses", count: clauses as u32 });
        }
        if instructions > MAX_INSTRUCTIONS {
            return Err(Malformed::TooMany { what: "instructions", count: instructions as u32 });
        }
        let body = 12 + Clause::SIZE * clauses + Instruction::SIZE * instructions;
        Header::encode(Kind::Install, self.flow, body, into);
        for number in [self.program, clauses as u32, instructions as u32] {
            into.extend(number.to_le_bytes());
        }
        self.clauses.iter().for_each(|clause| clause.encode(into));
        self.instructions.iter().for_each(|instruction| instruction.encode(into));
        Ok(())
    }
}
