//! The messages that portus may see, whichever way they come.

use super::AgentFlows;
use super::flows::{FlowTable, Refused};
use crate::message::{Create, Malformed, Measure, Message, Ready};
use bertha_core::log_pause::LogPause;
use parking_lot::Mutex;
use std::collections::VecDeque;
use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

/// The check of all messages that come from datapaths, and the messages that the agent's end adds.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) flows: AgentFlows,
    /// Messages that come before those that arrive.
    next: Mutex<VecDeque<(Vec<u8>, PathBuf)>>,
    /// The pause between two lines about refused messages.
    pause: Mutex<LogPause>,
}

impl Admission {
    /// Makes the check for an agent with these algorithms; with an empty list it takes all names.
    pub(super) fn new(algorithms: &[&str]) -> Self {
        let algorithms = algorithms.iter().map(ToString::to_string).collect();
        let flows = AgentFlows(Arc::new(Mutex::new(FlowTable::new(algorithms))));
        Self { flows, next: Mutex::default(), pause: Mutex::default() }
    }

    /// Copies the next of the added messages. Returns its length and the datapath in whose name it was added.
    pub(super) fn next(&self, into: &mut [u8]) -> Option<(usize, PathBuf)> {
        loop {
            let (message, from) = self.next.lock().pop_front()?;
            if let Some(space) = into.get_mut(..message.len()) {
                space.copy_from_slice(&message);
                return Some((message.len(), from));
            }
        }
    }

    /// Returns true if portus may see what has arrived from the datapath at `from`.
    pub(super) fn admits(&self, from: &Path, arrived: &[u8]) -> bool {
        match self.judge(from, arrived) {
            // Installing the programs again ends the flows, which the datapath then announces again.
            Ok(()) if self.flows.0.lock().needs_programs(from) => {
                self.next.lock().push_back((ready(), from.to_owned()));
                false
            }
            Ok(()) => true,
            Err(reason) => {
                self.refuse(&from, &reason);
                false
            }
        }
    }

    /// Checks all messages in `arrived`.
    fn judge(&self, from: &Path, mut arrived: &[u8]) -> Result<(), String> {
        if arrived.is_empty() {
            return Err("an empty message".to_owned());
        }
        while !arrived.is_empty() {
            let (message, length) = Message::decode(arrived).map_err(|error: Malformed| error.to_string())?;
            let mut flows = self.flows.0.lock();
            flows.on_message(from, &message, Instant::now()).map_err(|refused| {
                match (refused, &message) {
                    (Refused::UnknownAlgorithm, Message::Create(create)) => {
                        // A flow of this number was of a process before, which has not ended it.
                        let replaced = flows.end_replaced(from, create.flow).then(|| end(create.flow));
                        let replaced = replaced.flatten().map(|end| (end, from.to_owned()));
                        self.next.lock().extend(replaced);
                        unknown(create, flows.algorithms())
                    }
                    (Refused::TooManyFlows, _) => "too many flows for one agent".to_owned(),
                    _ => "a message that only agents send".to_owned(),
                }
            })?;
            arrived = &arrived[length..];
        }
        Ok(())
    }

    /// Counts a message that is dropped, and tells the reason now and then.
    pub(super) fn refuse(&self, from: &dyn Debug, reason: &str) {
        self.flows.0.lock().totals.refused += 1;
        if self.pause.lock().is_over(Some(Instant::now())) {
            tracing::warn!(
                ?from,
                reason,
                "CCP: a message of a datapath was dropped; for a second, others are counted alone"
            );
        }
    }

    /// Records that the datapath at `to` took a message of the agent, or did not take it.
    pub(super) fn on_sent(&self, to: &Path, message: &[u8], is_taken: bool) {
        if let Ok((message, _)) = Message::decode(message) {
            self.flows.0.lock().on_sent(to, &message, is_taken);
        }
    }

    /// Ends the flows of a datapath that is gone, which could not say so.
    pub(super) fn end_flows_of(&self, datapath: &Path) {
        let ended = self.flows.0.lock().forget(datapath);
        if !ended.is_empty() {
            tracing::info!(datapath = %datapath.display(), flows = ended.len(), "CCP: a datapath has vanished");
        }
        let messages = ended.into_iter().filter_map(end);
        self.next.lock().extend(messages.map(|message| (message, datapath.to_owned())));
    }
}

fn unknown(create: &Create, known: &[String]) -> String {
    let flow = create.flow;
    let name = create.algorithm.as_str().unwrap_or("(no text)");
    format!(
        "flow {flow} requests the algorithm `{}`, and this agent has {}",
        name.escape_debug(),
        known.join(", ")
    )
}

fn ready() -> Vec<u8> {
    let mut message = Vec::new();
    Ready { id: 0 }.encode(&mut message);
    message
}

/// Returns the message that ends a flow.
fn end(flow: u32) -> Option<Vec<u8>> {
    let mut message = Vec::new();
    Measure::encode_fields(flow, 0, &[], &mut message).ok()?;
    Some(message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::AlgorithmName;

    fn create(algorithm: &str) -> Vec<u8> {
        let create = Create {
            flow: 1,
            initial_window: 12_000,
            packet: 1_200,
            source_address: 0,
            source_port: 0,
            destination_address: 0,
            destination_port: 0,
            algorithm: AlgorithmName::new(algorithm).unwrap(),
        };
        let mut message = Vec::new();
        create.encode(&mut message);
        message
    }

    #[test]
    fn a_flow_that_is_refused_leaves_no_row_of_an_earlier_flow_of_its_number() {
        let admission = Admission::new(&["cubic"]);
        let path = Path::new("/a");
        let mut bytes = [0; 1_024];
        assert!(!admission.admits(path, &create("cubik")));
        assert_eq!(admission.next(&mut bytes), None, "there was none before");
        assert!(admission.admits(path, &create("cubic")));
        assert_eq!(admission.flows.status().len(), 1);
        assert!(!admission.admits(path, &create("cubik")));
        assert_eq!(admission.flows.status(), Vec::new());
        let (length, from) = admission.next(&mut bytes).unwrap();
        assert_eq!((&bytes[..length], from), (&end(1).unwrap()[..], path.to_owned()));
        assert_eq!((admission.flows.totals().ended, admission.flows.totals().refused), (1, 2));
    }
}
