//! The places of registers in memory: one array for all kinds, so that reading an operand takes no decision.

use crate::message::{MAX_FIELDS, Register};
use crate::signals;

/// The number of registers of each kind, as in libccp.
const REPORTS: usize = MAX_FIELDS;
const CONTROLS: usize = 110;
const IMPLICITS: usize = 6;
const TEMPORARIES: usize = 8;
const LOCALS: usize = 8;

const CONTROL: usize = REPORTS;
const IMPLICIT: usize = CONTROL + CONTROLS;
const TEMPORARY: usize = IMPLICIT + IMPLICITS;
const LOCAL: usize = TEMPORARY + TEMPORARIES;

/// The first signal.
pub(crate) const SIGNAL: usize = LOCAL + LOCALS;

/// A place that is always zero: the value of a signal that does not exist.
const ZERO: usize = SIGNAL + signals::COUNT;

/// The place for values that are written to a register that does not exist. It is never read.
pub(crate) const IGNORED: usize = ZERO + 1;

/// Number of places.
pub(crate) const COUNT: usize = IGNORED + 1;

/// The implicit registers.
pub(crate) const CONDITION: usize = IMPLICIT;
pub(crate) const FALL_THROUGH: usize = IMPLICIT + 1;
pub(crate) const REPORT: usize = IMPLICIT + 2;
pub(crate) const MICROS: usize = IMPLICIT + 3;
pub(crate) const WINDOW: usize = IMPLICIT + 4;
pub(crate) const RATE: usize = IMPLICIT + 5;

/// Returns the place of a register that is read; `None` if there is no such register.
pub(super) fn of(register: Register) -> Option<usize> {
    let (start, count, index) = match register {
        Register::Immediate(_) => return None,
        // Signals of a later version read as zero.
        Register::Signal(index) if index as usize >= signals::COUNT => return Some(ZERO),
        Register::Signal(index) => (SIGNAL, signals::COUNT, index),
        Register::Report { index, .. } => (0, REPORTS, index),
        Register::Control { index, .. } => (CONTROL, CONTROLS, index),
        Register::Implicit(index) => (IMPLICIT, IMPLICITS, index),
        Register::Temporary(index) => (TEMPORARY, TEMPORARIES, index),
        Register::Local(index) => (LOCAL, LOCALS, index),
    };
    let index = index as usize;
    (index < count).then_some(start + index)
}

/// Returns the place of a register of control.
pub(crate) fn control(index: u32) -> Option<usize> {
    of(Register::Control { index, is_volatile: false })
}
