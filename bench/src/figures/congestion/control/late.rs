//! An agent whose answers take effect late, in virtual time.

use bertha_ccp::{AgentEnd, Ccp};
use bertha_chunnels::congestion::{Ack, Algorithm, CongestionControl, Flow, NewFlow};
use portus::ipc::Ipc;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// The answers that the agent has given and no flow has taken.
#[derive(Debug, Clone, Default)]
struct Answers(Arc<Mutex<Vec<Vec<u8>>>>);

impl Answers {
    fn push(&self, answer: &[u8]) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(answer.to_vec());
    }

    fn take(&self) -> Vec<Vec<u8>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The agent's end of a link on which answers wait.
pub(super) struct LateEnd {
    end: AgentEnd,
    answers: Answers,
}

impl Ipc for LateEnd {
    type Addr = ();

    fn name() -> String {
        AgentEnd::name()
    }

    fn send(&self, message: &[u8], (): &()) -> portus::Result<()> {
        self.answers.push(message);
        Ok(())
    }

    fn recv(&self, into: &mut [u8]) -> portus::Result<(usize, ())> {
        self.end.recv(into)
    }

    fn close(&mut self) -> portus::Result<()> {
        self.end.close()
    }
}

/// Control by an agent in lockstep whose answers take effect at the first acknowledgement after a time.
#[derive(Debug, Clone)]
pub(super) struct Late {
    ccp: Ccp,
    answers: Answers,
    staleness: Duration,
}

/// Delays the answers of the agent at `end`.
pub(super) fn late(ccp: Ccp, end: AgentEnd, staleness: Duration) -> (Late, LateEnd) {
    let answers = Answers::default();
    (Late { ccp, answers: answers.clone(), staleness }, LateEnd { end, answers })
}

impl Algorithm for Late {
    fn start(&self, packet: u64) -> Box<dyn CongestionControl> {
        self.start_flow(&NewFlow::unnamed(packet))
    }

    fn start_flow(&self, flow: &NewFlow) -> Box<dyn CongestionControl> {
        let control = self.ccp.start_flow(flow);
        // The flow begins with its program, as one that lived before what is measured.
        self.answers.take().iter().for_each(|answer| self.ccp.datapath().handle(answer));
        Box::new(LateFlow { control, late: self.clone(), waiting: VecDeque::new() })
    }
}

#[derive(Debug)]
struct LateFlow {
    control: Box<dyn CongestionControl>,
    late: Late,
    /// The answers on their way, with the times at which they arrive.
    waiting: VecDeque<(Duration, Vec<u8>)>,
}

impl CongestionControl for LateFlow {
    fn on_ack(&mut self, ack: &Ack, flow: &Flow) {
        while let Some((_, answer)) = self.waiting.pop_front_if(|(at, _)| *at <= ack.now) {
            self.late.ccp.datapath().handle(&answer);
        }
        self.control.on_ack(ack, flow);
        // In lockstep, the agent has answered this flow and no other.
        let at = ack.now + self.late.staleness;
        self.waiting.extend(self.late.answers.take().into_iter().map(|answer| (at, answer)));
    }

    fn window(&self) -> u64 {
        self.control.window()
    }

    fn rate(&self) -> Option<u64> {
        self.control.rate()
    }
}
