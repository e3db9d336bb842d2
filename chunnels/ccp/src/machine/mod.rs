//! The machine that runs programs.

mod fault;
mod operate;

pub use fault::Fault;

use crate::Signals;
use crate::message::{Field, Operation, Register};
use crate::program::{Program, Source, Step, Target, slot};

/// The registers of one flow, and its timer.
#[derive(Clone)]
pub(crate) struct Machine {
    slots: [u64; slot::COUNT],
    /// The time at which the timer was 0, in microseconds.
    timer_start: u64,
}

/// A value of the agent for a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Update {
    pub(crate) slot: u16,
    pub(crate) value: u64,
}

impl Update {
    /// Reads a field. Only window, rate and registers of control take a value of the agent.
    pub(crate) fn load(field: &Field) -> Option<Self> {
        let slot = match field.register {
            Register::Control { index, .. } => slot::control(index)?,
            Register::Implicit(4) => slot::WINDOW,
            Register::Implicit(5) => slot::RATE,
            _ => return None,
        };
        Some(Self { slot: slot as u16, value: field.value })
    }
}

/// The outcome of a run.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Outcome {
    /// The window in bytes, if there is one.
    pub(crate) window: Option<u64>,
    /// The rate in bytes per second, if there is one.
    pub(crate) rate: Option<u64>,
    /// True if a report is due.
    pub(crate) report: bool,
}

impl Machine {
    pub(crate) fn new() -> Self {
        Self { slots: [0; slot::COUNT], timer_start: 0 }
    }

    /// Gives registers the values of their definitions, and restarts the timer.
    pub(crate) fn begin(&mut self, program: &Program, now: u64) {
        // The volatile registers come first: a register that is defined both ways begins with the other
        // value, as in libccp.
        self.reset(program);
        for definition in program.definitions.iter().filter(|definition| !definition.is_volatile) {
            self.set(definition.slot, definition.value);
        }
        self.timer_start = now;
        self.slots[slot::MICROS] = 0;
    }

    /// Gives volatile registers the values of their definitions, after a report.
    pub(crate) fn reset(&mut self, program: &Program) {
        for definition in program.definitions.iter().filter(|definition| definition.is_volatile) {
            self.set(definition.slot, definition.value);
        }
    }

    /// Sets the window and the rate that a program reads.
    pub(crate) fn set_current(&mut self, window: u64, rate: u64) {
        self.slots[slot::WINDOW] = window;
        self.slots[slot::RATE] = rate;
    }

    /// Sets a register to a value of the agent.
    pub(crate) fn update(&mut self, update: Update) {
        self.set(update.slot, update.value);
    }

    /// Returns the present window and rate, without a report.
    pub(crate) fn current(&self) -> Outcome {
        let positive = |value: u64| (value > 0).then_some(value);
        Outcome {
            window: positive(self.slots[slot::WINDOW]),
            rate: positive(self.slots[slot::RATE]),
            report: false,
        }
    }

    /// Returns the registers that the program reports.
    pub(crate) fn reports(&self, program: &Program) -> &[u64] {
        &self.slots[..program.reports.min(slot::COUNT)]
    }

    /// Runs the program.
    ///
    /// # Errors
    /// The [`Fault`] that ended the run. Registers keep the values that were written before; the next run
    /// begins as usual.
    pub(crate) fn run(&mut self, program: &Program, signals: &Signals) -> Result<Outcome, Fault> {
        self.slots[slot::CONDITION] = 0;
        self.slots[slot::FALL_THROUGH] = 0;
        self.slots[slot::REPORT] = 0;
        self.slots[slot::MICROS] = signals.now.wrapping_sub(self.timer_start);
        self.slots[slot::SIGNAL..][..crate::signals::COUNT].copy_from_slice(&signals.values());
        for clause in &program.clauses {
            // Ranges were checked; a clause without steps of its own uses the condition of the clause before,
            // as in libccp.
            for step in program.steps.get(clause.condition.clone()).unwrap_or_default() {
                self.step(step, signals.now)?;
            }
            if self.slots[slot::CONDITION] == 0 {
                continue;
            }
            for step in program.steps.get(clause.body.clone()).unwrap_or_default() {
                self.step(step, signals.now)?;
            }
            if self.slots[slot::CONDITION] != 0 && self.slots[slot::FALL_THROUGH] == 0 {
                break;
            }
        }
        Ok(Outcome { report: self.slots[slot::REPORT] != 0, ..self.current() })
    }

    #[inline]
    fn step(&mut self, step: &Step, now: u64) -> Result<(), Fault> {
        let left = self.read(step.left);
        let right = self.read(step.right);
        let result = match step.operation {
            Operation::Add => operate::add(left, right)?,
            Operation::Bind => right,
            Operation::Define => return Ok(()),
            Operation::Divide => operate::divide(left, right)?,
            Operation::Equal => u64::from(left == right),
            Operation::Ewma => operate::ewma(left, self.get(step.old), right),
            Operation::Greater => u64::from(left > right),
            Operation::If if left == 0 => return Ok(()),
            Operation::If => right,
            Operation::Less => u64::from(left < right),
            Operation::Max => left.max(right),
            Operation::MaxWrapped => operate::max_wrapped(left, right),
            Operation::Min => left.min(right),
            Operation::Multiply => operate::multiply(left, right)?,
            Operation::IfNot if left != 0 => return Ok(()),
            Operation::IfNot => right,
            Operation::Subtract => operate::subtract(left, right)?,
        };
        match step.target {
            Target::Slot(slot) => self.set(slot, result),
            Target::Timer => {
                self.timer_start = now.wrapping_sub(result);
                self.slots[slot::MICROS] = result;
            }
        }
        Ok(())
    }

    #[inline]
    fn read(&self, source: Source) -> u64 {
        match source {
            Source::Constant(value) => u64::from(value),
            Source::Slot(slot) => self.get(slot),
        }
    }

    #[inline]
    fn get(&self, slot: u16) -> u64 {
        self.slots.get(usize::from(slot)).copied().unwrap_or(0)
    }

    #[inline]
    fn set(&mut self, slot: u16, value: u64) {
        if let Some(place) = self.slots.get_mut(usize::from(slot)) {
            *place = value;
        }
    }
}
