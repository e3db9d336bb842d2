//! One flow: its program, and the agent's changes since the last acknowledgement.

use crate::machine::{Machine, Outcome, Update};
use crate::message::Field;
use crate::{Fault, Program, Signals};
use std::fmt;
use std::sync::Arc;

/// The state of one flow, between an agent that changes it at any time and acknowledgements at which changes take effect.
///
/// It neither allocates nor panics per acknowledgement, and a run ends after at most 256 instructions.
#[derive(Clone)]
pub struct Flow {
    machine: Machine,
    program: Option<Arc<Program>>,
    staged: Option<Arc<Program>>,
    /// The waiting updates, at most one for each register.
    updates: Vec<Update>,
}

/// The outcome of an acknowledgement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision<'a> {
    /// The window in bytes, if the agent or its program set one.
    pub window: Option<u64>,
    /// The rate in bytes per second, if the agent or its program set one.
    pub rate: Option<u64>,
    /// The report to send, if one is due.
    pub report: Option<Report<'a>>,
    /// The reason for which the program ended early, if it did.
    pub fault: Option<Fault>,
}

/// A report of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report<'a> {
    /// The agent's number for the program.
    pub program: u32,
    /// The values of the registers that the program reports.
    pub fields: &'a [u64],
}

/// Number of registers that take a value of the agent.
const UPDATABLE: usize = 112;

impl Flow {
    /// Makes a flow without a program.
    pub fn new() -> Self {
        Self { machine: Machine::new(), program: None, staged: None, updates: Vec::with_capacity(UPDATABLE) }
    }

    /// Begins `program` at the next acknowledgement, with `fields` in place of its own values. Waiting
    /// updates are dropped.
    pub fn change(&mut self, program: Arc<Program>, fields: &[Field]) {
        self.staged = Some(program);
        self.updates.clear();
        self.update(fields);
    }

    /// Sets registers at the next acknowledgement.
    pub fn update(&mut self, fields: &[Field]) {
        for update in fields.iter().filter_map(Update::load) {
            match self.updates.iter_mut().find(|waiting| waiting.slot == update.slot) {
                Some(waiting) => *waiting = update,
                None => self.updates.push(update),
            }
        }
    }

    /// Returns true if the flow has a program, or will have a program at the next acknowledgement.
    pub fn has_program(&self) -> bool {
        self.program.is_some() || self.staged.is_some()
    }

    /// Handles one acknowledgement, at which `window` bytes and a rate of `rate` bytes per second (0 for
    /// none) were in force.
    pub fn on_ack(&mut self, signals: &Signals, window: u64, rate: u64) -> Decision<'_> {
        self.machine.set_current(window, rate);
        if let Some(staged) = self.staged.take() {
            self.machine.begin(&staged, signals.now);
            self.program = Some(staged);
        }
        let is_updated = !self.updates.is_empty();
        for update in self.updates.drain(..) {
            self.machine.update(update);
        }
        // Updates take effect even if the program then fails.
        let updated = if is_updated { self.machine.current() } else { Outcome::default() };
        let failed = |fault| Decision { window: updated.window, rate: updated.rate, report: None, fault };
        let Some(program) = &self.program else { return failed(None) };
        match self.machine.run(program, signals) {
            Err(fault) => failed(Some(fault)),
            Ok(outcome) => {
                let report = outcome
                    .report
                    .then(|| Report { program: program.uid, fields: self.machine.reports(program) });
                Decision { window: outcome.window, rate: outcome.rate, report, fault: None }
            }
        }
    }

    /// Resets the volatile registers. The caller has to call it after it has sent a report.
    pub fn on_reported(&mut self) {
        if let Some(program) = &self.program {
            self.machine.reset(program);
        }
    }
}

impl Default for Flow {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.as_ref().map(|program| program.uid());
        f.debug_struct("Flow").field("program", &program).finish_non_exhaustive()
    }
}
