//! Marks for congestion, from a link to an algorithm of an agent.

mod emulated;
mod kernel;
mod router;

use bertha_ccp::{Ccp, Pace, algorithms};
use portus::ipc::BackendBuilder;
use portus::{CCPHandle, RunBuilder};

/// Returns DCTCP, by an agent that answers at once.
fn dctcp() -> (Ccp, CCPHandle) {
    let (ccp, end) = Ccp::in_process(Pace::Lockstep);
    let agent = RunBuilder::new(BackendBuilder { sock: end }).default_alg(algorithms::Dctcp::default());
    (ccp, agent.spawn_thread().run().unwrap())
}

fn stop(agent: CCPHandle) {
    agent.kill();
    // The agent ends with an error that says that it was told to stop.
    agent.wait().unwrap_or_default();
}
