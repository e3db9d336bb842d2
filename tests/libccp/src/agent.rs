//! Channels to an agent, and its end.

use crossbeam::channel::{Receiver, Sender};
use libccp::DatapathOps;
use portus::CCPHandle;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

/// The channel to an agent, with the number of messages that were sent over it.
pub struct ToAgent(pub Sender<Vec<u8>>, pub Arc<AtomicU64>);

impl DatapathOps for ToAgent {
    fn send_msg(&mut self, message: &[u8]) {
        self.1.fetch_add(1, Relaxed);
        // An agent that has stopped hears no more.
        let _ = self.0.send(message.to_vec());
    }
}

/// Returns the next message of an agent, which has to come within 20 seconds.
pub fn answer(from: &Receiver<Vec<u8>>) -> Vec<u8> {
    from.recv_timeout(Duration::from_secs(20)).expect("an answer of the agent")
}

/// Ends an agent and waits for its end.
pub fn stop(agent: CCPHandle) {
    agent.kill();
    agent.wait().unwrap_or_default();
}
