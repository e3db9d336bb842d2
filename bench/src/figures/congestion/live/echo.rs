//! An algorithm that answers each report at once, and decides nothing.

use portus::ipc::Ipc;
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report};
use std::collections::HashMap;

/// The algorithm by its name, [`NAME`].
#[derive(Debug, Clone, Copy)]
pub(super) struct Echo;

pub(super) const NAME: &str = "echo";

/// Acknowledgements without bytes let an answer take effect, and are not reported.
const PROGRAM: &str = "(def (Report (x 0))) (when (> Ack.bytes_acked 0) (report))";

/// The first window of a flow, in bytes, above any window of the control that the agent takes over from.
const FIRST: u32 = 1 << 24;

/// A flow of [`Echo`].
pub(super) struct EchoFlow<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
    window: u32,
}

impl<I: Ipc> CongAlg<I> for Echo {
    type Flow = EchoFlow<I>;

    fn name() -> &'static str {
        NAME
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        HashMap::from([(NAME, PROGRAM.to_owned())])
    }

    fn new_flow(&self, mut datapath: Datapath<I>, _: DatapathInfo) -> EchoFlow<I> {
        let scope = datapath.set_program(NAME, Some(&[("Cwnd", FIRST)])).ok();
        EchoFlow { datapath, scope, window: FIRST }
    }
}

impl<I: Ipc> Flow for EchoFlow<I> {
    fn on_report(&mut self, _: u32, _: Report) {
        let Some(scope) = &self.scope else { return };
        self.window = if self.window == FIRST { FIRST + 1 } else { FIRST };
        // A flow that is over accepts no more changes.
        let _ = self.datapath.update_field(scope, &[("Cwnd", self.window)]);
    }
}
