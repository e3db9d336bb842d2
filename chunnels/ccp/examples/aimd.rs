//! A whole agent with an algorithm of its own: the window grows by a packet per round trip, and halves at each loss.
//! The first argument is the path of the agent's socket.
//!
//! ```sh
//! cargo run --release -p bertha-ccp --features agent --example aimd
//! cargo run --release -p bertha-cli -- perf -c 127.0.0.1 -u --stack ordered,fragment,reliable --congestion agent
//! ```

use bertha_ccp::{AgentSocket, check_programs};
use portus::ipc::{BackendBuilder, Ipc};
use portus::lang::Scope;
use portus::{CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report, RunBuilder};
use std::collections::HashMap;

struct Aimd;

struct AimdFlow<I: Ipc> {
    datapath: Datapath<I>,
    scope: Option<Scope>,
    window: u32,
    packet: u32,
}

impl<I: Ipc> CongAlg<I> for Aimd {
    type Flow = AimdFlow<I>;

    fn name() -> &'static str {
        "aimd"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let program = "
            (def (Report (volatile lost 0)))
            (when true (:= Report.lost (+ Report.lost Ack.lost_pkts_sample)) (fallthrough))
            (when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))";
        HashMap::from([("count losses", program.to_owned())])
    }

    fn new_flow(&self, mut datapath: Datapath<I>, info: DatapathInfo) -> AimdFlow<I> {
        let window = info.init_cwnd;
        let scope = datapath.set_program("count losses", Some(&[("Cwnd", window)])).ok();
        AimdFlow { datapath, scope, window, packet: info.mss }
    }
}

impl<I: Ipc> Flow for AimdFlow<I> {
    fn on_report(&mut self, _: u32, report: Report) {
        let Some(scope) = &self.scope else { return };
        // A report of an earlier program has no such field.
        let Ok(lost) = report.get_field("Report.lost", scope) else { return };
        self.window = if lost > 0 { self.window / 2 } else { self.window + self.packet };
        self.window = self.window.max(2 * self.packet);
        // The datapath may be gone.
        let _ = self.datapath.update_field(scope, &[("Cwnd", self.window)]);
    }
}

/// Runs the algorithm for datapaths that find its agent at this path.
pub(crate) fn serve(path: &str) -> Result<(), Box<dyn std::error::Error>> {
    // Before the socket is there, so that no flow waits for an agent that can't begin.
    check_programs(&Aimd)?;
    let sock = AgentSocket::bind(path, &[])?;
    RunBuilder::new(BackendBuilder { sock }).default_alg(Aimd).run().map_err(|error| error.0.into())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    tracing_subscriber::fmt::init();
    serve(&std::env::args().nth(1).unwrap_or_else(|| "/tmp/ccp/portus".to_owned()))
}
