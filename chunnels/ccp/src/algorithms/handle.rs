//! One flow, as an algorithm sees it.

use portus::ipc::Ipc;
use portus::lang::Scope;
use portus::{Datapath, DatapathTrait, Report};

/// The connection to a flow. A message that can't be sent is logged: the datapath is gone then, and the flow
/// with it.
pub(super) struct Handle<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
}

impl<I: Ipc> Handle<I> {
    pub(super) fn new(datapath: Datapath<I>) -> Self {
        Self { datapath, scope: None }
    }

    /// Begins a program with values for its registers.
    pub(super) fn begin(&mut self, program: &'static str, fields: &[(&str, u32)]) {
        match self.datapath.set_program(program, Some(fields)) {
            Ok(scope) => self.scope = Some(scope),
            Err(error) => tracing::debug!(?error, program, "a program can't be chosen"),
        }
    }

    pub(super) fn set(&self, fields: &[(&str, u32)]) {
        let Some(scope) = &self.scope else { return };
        if let Err(error) = self.datapath.update_field(scope, fields) {
            tracing::debug!(?error, ?fields, "registers can't be set");
        }
    }

    /// Returns a field of a report, unless the report is from an earlier program.
    pub(super) fn field(&self, report: &Report, name: &str) -> Option<u64> {
        report.get_field(name, self.scope.as_ref()?).ok()
    }
}

/// Converts a number for a register, which takes 32 bits from portus.
pub(super) fn register(value: f64) -> u32 {
    // The conversion saturates, also for infinity.
    value as u32
}
