//! Connections of the crate `quinn`, over loopback, controlled by an agent.

mod endpoints;
mod watched;

use bertha_ccp::{AgentEnd, Ccp, Pace, algorithms};
use bertha_chunnels::congestion::{Algorithm, ForQuinn};
use endpoints::transfer;
use portus::ipc::{BackendBuilder, Ipc};
use portus::{CCPHandle, CongAlg, Datapath, DatapathInfo, DatapathTrait, Flow, Report, RunBuilder};
use quinn::congestion::ControllerFactory;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use watched::{Most, Watched};

/// A window above the initial window and above the smallest window of each packet size.
const WINDOW: u32 = 24_000;

/// Sets one window for ever, and counts reports.
#[derive(Clone, Default)]
struct Constant(Arc<AtomicU64>);

impl<I: Ipc> CongAlg<I> for Constant {
    type Flow = Self;

    fn name() -> &'static str {
        "constant"
    }

    fn datapath_programs(&self) -> HashMap<&'static str, String> {
        let program = "
            (def (Report (volatile acked 0)))
            (when true (:= Report.acked (+ Report.acked Ack.bytes_acked)) (fallthrough))
            (when (> Micros Flow.rtt_sample_us) (report) (:= Micros 0))";
        HashMap::from([("count", program.to_owned())])
    }

    fn new_flow(&self, mut control: Datapath<I>, _: DatapathInfo) -> Self {
        control.set_program("count", Some(&[("Cwnd", WINDOW)])).unwrap();
        self.clone()
    }
}

impl Flow for Constant {
    fn on_report(&mut self, _: u32, _: Report) {
        self.0.fetch_add(1, Relaxed);
    }
}

/// Returns a control whose agent runs `algorithm`, with the agent.
fn agent<A: CongAlg<AgentEnd> + Send + 'static>(algorithm: A) -> (Ccp, CCPHandle) {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithm);
    (ccp, agent.spawn_thread().run().unwrap())
}

fn stop(agent: CCPHandle) {
    agent.kill();
    // The agent ends with an error that says that it was told to stop.
    agent.wait().unwrap_or_default();
}

fn for_quinn(algorithm: impl Algorithm) -> Arc<dyn ControllerFactory + Send + Sync> {
    Arc::new(ForQuinn::new(algorithm))
}

#[tokio::test]
async fn the_window_of_an_agent_is_enforced() {
    let reports = Constant::default();
    let (ccp, agent) = agent(reports.clone());
    // The agent answers no report, and stays in control.
    let ccp = ccp.agent_timeout(Duration::from_secs(600));
    let most = Arc::<Most>::default();
    let window = transfer(Arc::new(Watched::new(for_quinn(ccp), most.clone())), 4 << 20).await;
    stop(agent);
    assert_eq!(window, u64::from(WINDOW));
    let most = most.in_flight(window);
    // A packet without data, such as an acknowledgement, may be in flight in addition.
    assert!(most > window * 3 / 4 && most <= window + 1_452, "{most} bytes in flight");
    assert!(reports.0.load(Relaxed) > 10, "{reports:?} reports", reports = reports.0);
}

#[tokio::test]
async fn every_algorithm_carries_a_transfer() {
    async fn by<A: CongAlg<AgentEnd> + Send + 'static>(algorithm: A) {
        let (ccp, agent) = agent(algorithm);
        transfer(for_quinn(ccp), 1 << 20).await;
        stop(agent);
    }
    by(algorithms::NewReno).await;
    by(algorithms::Cubic::default()).await;
    by(algorithms::Vegas::default()).await;
    by(algorithms::Copa::default()).await;
    by(algorithms::Bbr).await;
}
